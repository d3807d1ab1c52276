// ThreadPool (workqueue/thread_pool.cc): threads that call Execute(), the
// pool's threads, and the destructor. A task blocks until all tasks have begun,
// so each needs a thread of its own. With SUBMITS the first one submits the last
// one.
//
// Checked with:
//   -DTASKS=1                                    | holds
//   -DTASKS=3 -DTHREADS=3                        | holds
//   -DTASKS=3 -DTHREADS=3 -DAFTER_TASKS          | holds
//   -DTASKS=2 -DCLOCK_BACK                       | holds
//   -DTASKS=2 -DSUBMITS                          | holds
//   -DTASKS=2 -DSUBMITS -DCLOCK_BACK             | holds
//   -DTASKS=2 -DSUBMITS -DTHREADS=3              | holds
//   -DTASKS=2 -DSUBMITS -DBROKEN_LEAVES_WAITING  | assertion .*gone
//   -DTASKS=2 -DBROKEN_ENDS_QUIETLY              | assertion .*gone
//   -DTASKS=2 -DAFTER_TASKS -DBROKEN_STAYS_IDLE  | assertion .*gone
//   -DTASKS=1 -DAFTER_TASKS -DBROKEN_WAKES_EARLY | assertion .*gone
//   -DTASKS=1 -DCLOCK_BACK -DBROKEN_COUNTS_LATE  | assertion violated  !
//   -DTASKS=1 -DCLOCK_BACK -DBROKEN_NO_COUNT     | assertion violated  !
//   -DTASKS=1 -DCLOCK_BACK -DBROKEN_ENDS_EARLY   | assertion violated  !
//   -DTASKS=1 -DBROKEN_LEAVES_TASKS              | assertion .*ended
//   -DTASKS=1 -DBROKEN_CLOSES_QUIETLY            | assertion .*gone

#ifndef THREADS  // at most 3
#define THREADS 2
#endif
#ifdef SUBMITS
#define FIRST_TASKS (TASKS - 1)
#else
#define FIRST_TASKS TASKS
#endif
// -DCLOCK_BACK: a clock that goes back may wake a thread at any moment.
// -DAFTER_TASKS: the destructor is called when all tasks have ended.

// Guarded by mu_. A critical section is an atomic block.
byte tasks;
byte idle;  // a bit for each thread in idle_
byte running;
bool closing;

byte waking;
bool unparked[THREADS];  // Parker; see parker.pml and parker_end.pml
byte destroyed;  // a bit for each thread whose parker has been destroyed

// State of the model that the code does not have.
byte given;  // the calls of Execute() that have taken the lock
byte begun;  // tasks
bool submitted;  // the last task
byte ended;  // tasks
byte threads = THREADS;  // those of the pool that have not ended
bool gone;  // the pool's memory has been freed

// Takes a thread from idle_, any of them.
inline TakeIdle(thread) {
  if
  :: idle & 1 -> thread = 0
  :: idle & 2 -> thread = 1
  :: idle & 4 -> thread = 2
  fi;
#ifndef BROKEN_STAYS_IDLE
  idle = idle & ~(1 << thread)
#endif
}

// Wakes the threads in idle_.
inline UnparkIdle() {
  for (n : 0 .. THREADS - 1) {
    unparked[n] = unparked[n] || (idle & (1 << n))
  }
}

proctype Executing() {
  byte thread;
  atomic {
    given++;
#ifndef BROKEN_WAKES_EARLY
    tasks++;
#endif
    if
    :: idle == 0 ->
#ifdef BROKEN_WAKES_EARLY
      tasks++;
#endif
      goto end
    :: else
    fi;
    TakeIdle(thread);
#if !defined BROKEN_COUNTS_LATE && !defined BROKEN_NO_COUNT
    waking++
#endif
  }
#ifdef BROKEN_COUNTS_LATE
  waking++;
#endif
  atomic {
    assert(!gone);
    assert(!(destroyed & (1 << thread)));
    unparked[thread] = true
  }
#ifdef BROKEN_WAKES_EARLY
  tasks++;
#endif
#ifndef BROKEN_NO_COUNT
  atomic {
    assert(!gone);
    waking--
  }
#endif
end:
}

proctype Thread(byte self) {
  bool has_task, ends;
  byte n;
  do
  :: true ->
    // TakeTask()
    atomic {
      idle = idle & ~(1 << self);
      running = running - has_task;
      ends = closing && tasks == 0 && running == 0;
#ifdef BROKEN_LEAVES_WAITING
      ends = closing && tasks == 0;
#endif
#ifdef BROKEN_LEAVES_TASKS
      ends = closing;
#endif
      if
      :: ends ->
#ifndef BROKEN_ENDS_QUIETLY
        if
        :: has_task -> UnparkIdle()
        :: else
        fi;
#endif
        break
      :: else
      fi;
      has_task = tasks > 0;
      if
      :: has_task -> tasks--; running++
      :: else -> idle = idle | (1 << self)
      fi
    }
    if
    :: has_task ->
      begun++;
#ifdef SUBMITS
      atomic {
        if
        :: !submitted -> submitted = true; run Executing()
        :: else
        fi
      }
#endif
      begun == TASKS;
      ended++
    :: !has_task ->
      atomic {
#ifdef CLOCK_BACK
        true;
#else
        unparked[self];
#endif
        unparked[self] = false
      }
    fi
  od;
#ifndef BROKEN_ENDS_EARLY
  waking == 0;
#endif
  destroyed = destroyed | (1 << self);
  threads--
}

// ~ThreadPool(). Before the call, each Execute() has at least taken the lock.
proctype Destructor() {
  byte n;
#ifdef AFTER_TASKS
  ended == TASKS;
#else
  given >= FIRST_TASKS;
#endif
  atomic {
    closing = true;
    assert(!(destroyed & idle));
#ifndef BROKEN_CLOSES_QUIETLY
    UnparkIdle();
#endif
  }
  threads == 0;
  assert(ended == TASKS);
  gone = true
}

init {
  byte n;
  atomic {
    run Destructor();
    for (n : 1 .. THREADS) { run Thread(n - 1) }
    for (n : 1 .. FIRST_TASKS) { run Executing() }
  }
  timeout;
  assert(gone)
}
