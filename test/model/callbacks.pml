// Callbacks that wait in a queue (workqueue/internal/queue_core.h,
// queue_state.h), together with threads that call Get(): AcquireAsync(),
// CancelAcquire(), the shutdown, a drain and the destructor. With BOUND, the queue has an ordering that holds each item back
// while BOUND others are processed.
//
// Checked with:
//   -DCALLBACKS=2                                | holds, and all_end
//   -DCALLBACKS=2 -DINLINE=1                     | holds
//   -DCALLBACKS=2 -DAT_A_TIME=2                  | holds
//   -DCALLBACKS=3 -DGETTERS=0                    | holds | slow
//   -DGETTERS=2 -DCALLBACKS=1                    | holds
//   -DSTOPPERS=1 -DADDERS=1                      | holds, and all_end | slow
//   -DSTOPPERS=1 -DADDERS=1 -DINLINE=1           | holds
//   -DBOUND=1                                    | holds, and all_end
//   -DBOUND=1 -DSTOPPERS=1 -DCALLBACKS=1         | holds
//   -DBROKEN_CANCELLED_KEEPS_ITS_TURN            | assertion .*cancelled
//   -DBROKEN_CANCEL_REMOVES_THE_WOKEN            | assertion .*gone
//   -DGETTERS=0 -DBROKEN_RUN_WAKES_NOBODY        | assertion .*waiting
//   -DGETTERS=0 -DBROKEN_THROW_WAKES_NOBODY      | assertion .*waiting
//   -DBROKEN_WOKEN_FOR_EVER                      | assertion .*waiting
//   -DBROKEN_FORGETS_TO_WAIT_AGAIN               | assertion .*over
//   -DBROKEN_WAITS_AGAIN_AFTER_SHUT_DOWN         | assertion .*closing
//   -DBROKEN_SHUT_DOWN_WAKES_ONE_BATCH           | assertion .*waiting
//   -DBROKEN_SENDS_LOCKED -DINLINE=1             | assertion .*waiting
//   -DBROKEN_TAKES_NO_TURNS                      | assertion .*passed_over
//   -DBROKEN_TAKES_NO_TURNS_OF_THREADS           | assertion .*passed_over
//   -DBROKEN_THREADS_AWAIT_CALLBACKS             | assertion .*woken_threads
//   -DSTOPPERS=1 -DCALLBACKS=1 -DBROKEN_DRAIN_BEGINS_LATE | assertion .*drain_asleep
//   -DSTOPPERS=1 -DCALLBACKS=1 -DBROKEN_DRAIN_BLOCKS_LATE | assertion .*gone
//   -DBROKEN_DESTRUCTOR_WAITS_FOR_NO_CALLBACK    | assertion .*gone
//   -DBROKEN_DESTRUCTOR_WAITS_FOR_NO_CALL        | assertion .*gone
//   -DBROKEN_CALL_ENDS_LOCKED                    | assertion .*gone
//   -DBROKEN_DESTRUCTOR_HANDS_OUT                | assertion .*closing
//   -DBOUND=1 -DBROKEN_RUNS_WHAT_IS_HELD_BACK    | assertion .*processing

#ifndef ADDERS  // threads that add one item
#define ADDERS 2
#endif
#ifndef CALLBACKS  // at most 3
#define CALLBACKS 2
#endif
#ifndef GETTERS  // threads that call Get(); at most 2
#define GETTERS 1
#endif
#ifndef STOPPERS  // threads that call ShutDown(), and that drain; at most 1
#define STOPPERS 0
#endif
#ifndef AT_A_TIME  // the limit of those that are woken and do not run yet
#define AT_A_TIME 1
#endif
#ifndef BOUND  // the most items that are processed at a time; 0 for any number
#define BOUND 0
#endif
#ifndef INLINE  // whether the executor is an InlineExecutor, and not a pool
#define INLINE 0
#endif

#define ALL ((1 << CALLBACKS) - 1)

// Guarded by mu_. A critical section is an atomic block.
byte queued;
byte processing;
bool shutting_down;
bool closing;
byte drain_ends;
byte blocked;
byte in_call;  // begun_calls_ without the calls that have ended
bool destroyed;  // whether ended_calls_ has kDestroyed
byte woken_getters;
byte woken_threads;  // those of woken_getters that are threads
bool turn_of_callback;
// The callbacks that wait and have not been woken, a bit for each, those that
// have been woken and do not run yet, and those of them that are cancelled.
byte waiting;
byte woken;
byte cancelled;
// The threads in the list of those that wait, and those that sleep.
byte getters;
byte asleep;
bool drain_asleep;
#define idle (queued == 0 && processing == 0)
// HasNext() of the ordering, and QueueState::MustWait()
#if BOUND
#define ready (queued > 0 && processing < BOUND)
#else
#define ready (queued > 0)
#endif
#define must_wait (!ready && !closing && (queued > 0 || !shutting_down))

// The tasks of a pool.
byte submitted;

// Used within an atomic block only, and so not part of the state.
hidden byte b, wanted, threw, waits_again;

// State of the model that the code does not have.
bool locked;      // whether mu_ is held outside of an atomic block
byte over;        // the callbacks that have been called or cancelled
byte passed_over_callbacks, passed_over_threads;  // since they have waited
byte throws = 1;  // the number of times that taking an item throws
byte calls = ADDERS + CALLBACKS + 1 + 2 * STOPPERS;  // still to come
byte threads_busy = GETTERS;  // neither blocked in Get() nor at its end
byte drain_began; // drain_ends when the drain began
bool resume;      // what pauses must continue
bool end_it;      // the destructor must be called
bool gone;        // the queue's memory has been freed

// Sets `one` to any of `bits`, of which there is at least one. The code takes
// the first callback, and the last thread.
inline Pick(bits, one) {
  if
  :: bits & 1 -> one = 1
  :: bits & 2 -> one = 2
  :: bits & 4 -> one = 4
  fi
}

inline WakeCallback() {
  turn_of_callback = false;
  Pick(waiting, b);
  waiting = waiting & ~b;
  woken = woken | b;
  to_send = to_send | b;
  passed_over_callbacks = 0;
  passed_over_threads = (getters != 0 -> passed_over_threads + 1 : 0);
  assert(passed_over_threads < 2)
}

inline WakeThread() {
  woken_threads++;
  Pick(getters, b);
  getters = getters & ~b;
  asleep = asleep & ~b
}

inline WakeThreadInTurn() {
  turn_of_callback = true;
  WakeThread();
  passed_over_threads = 0;
  passed_over_callbacks = (waiting != 0 -> passed_over_callbacks + 1 : 0);
  assert(passed_over_callbacks < 2)
}

#if defined(BROKEN_TAKES_NO_TURNS)
#define callback_is_next (getters == 0)
#elif defined(BROKEN_TAKES_NO_TURNS_OF_THREADS)
#define callback_is_next (true)
#else
#define callback_is_next (turn_of_callback || getters == 0)
#endif

#define for_items (!ready -> 0 : (queued < AT_A_TIME -> queued : AT_A_TIME))

// QueueState::WakeGetters(), at the end of each critical section that holds a
// QueueCore::Lock.
inline WakeGetters() {
  assert(!gone);
  if
  :: shutting_down && queued == 0 -> asleep = asleep & ~getters
  :: else
  fi;
  wanted = (waiting != 0 && shutting_down && !must_wait -> AT_A_TIME : for_items);
  WakeUpTo(wanted);
  assert(!ready || getters == 0 || woken_threads > 0);  // asleep for a busy executor
  assert(!ready || waiting == 0 || woken_threads > 0 || (woken & ~cancelled) != 0)
}
inline WakeUpTo(most) {
  do
  :: woken_getters < most && (getters != 0 || waiting != 0) ->
    woken_getters++;
    if
    :: waiting != 0 && callback_is_next -> WakeCallback()
    :: else -> WakeThreadInTurn()
    fi
#if !defined(BROKEN_THREADS_AWAIT_CALLBACKS)
  :: woken_getters >= most && getters != 0 && woken_threads < most ->
    woken_getters++;
    WakeThread()
#endif
  :: else -> break
  od
}

// QueueCore::Finish()
inline Done() {
  atomic {
    !locked ->
    processing--;
    if
    :: shutting_down && idle -> drain_asleep = false
    :: else
    fi;
    WakeGetters()
  }
}

// A thread or a callback may pause.
inline Rest() {
  if
  :: true
  :: true -> resume
  fi
}

#if !INLINE
// CallbackWakeUp::Send() for all that the thread has woken, without the lock.
inline Send() {
  submitted = submitted | to_send;
  to_send = 0
}
#endif

// QueueCore::RunCallback() of the callback `one`, and the end of its lease.
inline RunCallback(one) {
  atomic {
    !locked ->
    assert(!gone);
    assert(woken & one);
    assert(!(over & one) || (cancelled & one));
    got = false;
    threw = false;
#if defined(BROKEN_RUNS_WHAT_IS_HELD_BACK)
    waits_again = !(cancelled & one) && queued == 0 && !shutting_down;
#elif defined(BROKEN_WAITS_AGAIN_AFTER_SHUT_DOWN)
    waits_again = !(cancelled & one) && queued == 0;
    assert(!waits_again || !closing);
#else
    waits_again = !(cancelled & one) && must_wait;
#endif
    if
    :: waits_again ->
#if !defined(BROKEN_FORGETS_TO_WAIT_AGAIN)
      waiting = waiting | one;
      blocked++  // It is decremented below.
#endif
    :: !waits_again && !(cancelled & one) ->
      over = over | one;
      called = true;
      in_call++;
#if defined(BROKEN_DESTRUCTOR_HANDS_OUT)
      if
      :: ready ->
#elif defined(BROKEN_RUNS_WHAT_IS_HELD_BACK)
      if
      :: queued > 0 && !closing ->
#else
      if
      :: ready && !closing ->
#endif
        assert(!closing);
        assert(!BOUND || processing < BOUND);
        if
        :: throws > 0 -> throws--; threw = true
        :: true -> queued--; processing++; got = true
        fi
      :: else -> assert(shutting_down)
      fi
    :: else  // It is cancelled.
    fi;
    woken = woken & ~one;
    blocked--;
#if defined(BROKEN_CANCELLED_KEEPS_ITS_TURN)
    woken_getters--;
#elif !defined(BROKEN_WOKEN_FOR_EVER)
    woken_getters = woken_getters - (cancelled & one -> 0 : 1);
#endif
    cancelled = cancelled & ~one;
#if defined(BROKEN_RUN_WAKES_NOBODY)
    if
    :: got
    :: else -> WakeGetters()
    fi
#elif defined(BROKEN_THROW_WAKES_NOBODY)
    if
    :: threw
    :: else -> WakeGetters()
    fi
#elif defined(BROKEN_SHUT_DOWN_WAKES_ONE_BATCH)
    wanted = for_items;
    WakeUpTo(wanted)
#else
    WakeGetters()
#endif
  }
  if
  :: got ->
#if !INLINE
    Send();
    Rest();
#endif
    got = false;
    Done()
  :: else
  fi;
  if
  :: called -> EndCall()
  :: else
  fi
}

// QueueState::EndCall()
inline EndCall() {
#if defined(BROKEN_CALL_ENDS_LOCKED)
  d_step { in_call--; called = false }
  atomic { !locked -> assert(!gone) }
#else
  if
  :: atomic { !destroyed -> in_call--; called = false }
  :: atomic { destroyed && !locked -> assert(!gone); in_call--; called = false }
  fi
#endif
}

// The variables of a thread that may wake callbacks.
#define LOCALS byte to_send, task; bool got, called

#if INLINE
// Runs the callbacks that the thread has woken, one after the other.
inline Send() {
  do
  :: to_send != 0 ->
    Pick(to_send, task);
    to_send = to_send & ~task;
    RunCallback(task)
  :: else -> task = 0; break
  od
}
#else
// A thread of the pool, for the callback `task`. It runs the callback each time
// that the callback is submitted.
proctype PoolThread(byte self) {
  LOCALS;
  task = self;
end:
  do
  ::
    atomic { submitted & task -> submitted = submitted & ~task }
    RunCallback(task);
    Send()
  od
}
#endif

// Queue::Add()
proctype Adder() {
  LOCALS;
  atomic {
    !locked ->
    calls--;
    if
    :: shutting_down
    :: else -> queued++
    fi;
    WakeGetters();
#if defined(BROKEN_SENDS_LOCKED)
    locked = true
#endif
  }
  Send();
#if defined(BROKEN_SENDS_LOCKED)
  locked = false
#endif
}

// AcquireAsync()
proctype Acquirer(byte self) {
  LOCALS;
  atomic {
    !locked ->
    calls--;
    blocked++;
    waiting = waiting | self;
    WakeGetters()
  }
  Send()
}

// CancelAcquire() of any callback that has been added.
proctype Canceller() {
  LOCALS;
  byte id;
  atomic {
    !locked ->
    calls--;
    Pick(ALL, id);
    if
    :: waiting & id ->
      waiting = waiting & ~id;
      over = over | id;
      blocked--
    :: woken & id ->
      over = over | id;
#if !defined(BROKEN_CANCELLED_KEEPS_ITS_TURN)
      woken_getters--;
#endif
#if defined(BROKEN_CANCEL_REMOVES_THE_WOKEN)
      woken = woken & ~id;
      blocked--
#else
      cancelled = cancelled | id
#endif
    :: else ->  // It has been called, or is still to come: no effect.
      skip
    fi;
    WakeGetters()
  }
  Send()
}

// Gets and processes items until the queue ends.
proctype Getter(byte self) {
  LOCALS;
  bool taken;
  do
  ::
    atomic {
      !locked ->
      // AwaitItem()
      blocked++;
      threads_busy--;
      do
      :: must_wait ->
        getters = getters | self;
        asleep = asleep | self;
        !(asleep & self) && !locked ->
        assert(!gone);
        if
        :: getters & self -> getters = getters & ~self
        :: else -> woken_getters--; woken_threads--
        fi
      :: else -> break
      od;
      blocked--;
      taken = ready && !closing;
      if
      :: taken -> queued--; processing++; threads_busy++
      :: else
      fi;
      WakeGetters()
    }
    Send();
    if
    :: !taken -> break
    :: else
    fi;
    Rest();
    Done();
    Send()
  od
}

// BeginShutDown()
inline BeginShutDown() {
  shutting_down = true;
  asleep = 0
}

// EndDrains()
inline EndDrains() {
  drain_ends++;
  drain_asleep = false
}

// ShutDown(). Close() is the same without EndDrains().
proctype Stopper() {
  LOCALS;
  atomic {
    !locked ->
    calls--;
    if
    :: BeginShutDown();
       EndDrains();
       WakeGetters()
    :: true  // or no call at all
    fi
  }
  Send()
}

// ShutDownWithDrain()
proctype Drainer() {
  LOCALS;
  byte drain;
  atomic {
    !locked ->
    calls--;
    if
    :: true -> goto end  // or no call at all
    :: true
    fi;
    BeginShutDown();
    drain_began = drain_ends;
    drain = drain_ends;
#if !defined(BROKEN_DRAIN_BLOCKS_LATE)
    blocked++;
#endif
    WakeGetters()
  }
  Send();
  atomic {
    !locked ->
    assert(!gone);
#if defined(BROKEN_DRAIN_BLOCKS_LATE)
    blocked++;
#endif
#if defined(BROKEN_DRAIN_BEGINS_LATE)
    drain = drain_ends;
#endif
    do
    :: !idle && drain_ends == drain ->
      drain_asleep = true;
      !drain_asleep && !locked
    :: else -> break
    od;
    blocked--
  }
end:
}

// The destructor. The caller ensures that no call is in progress or follows,
// except for calls that block, and that all leases have ended but those of
// callbacks that are being called.
proctype Destroyer() {
  LOCALS;
  if
  :: true
  :: true -> end_it
  fi;
  atomic {
    calls == 0 && threads_busy == 0 && !locked ->
    closing = true;
    BeginShutDown();
    EndDrains();
    WakeGetters()
  }
  Send();
  atomic { !locked -> destroyed = true }
#if defined(BROKEN_DESTRUCTOR_WAITS_FOR_NO_CALLBACK)
  atomic { asleep == 0 && getters == 0 -> gone = true }
#elif defined(BROKEN_DESTRUCTOR_WAITS_FOR_NO_CALL)
  atomic { blocked == 0 && !locked -> gone = true }
#else
  atomic { blocked == 0 && in_call == 0 && !locked -> gone = true }
  assert(processing == 0)
#endif
}

ltl all_end { [] (closing -> <> (over == ALL && gone)) }

init {
  byte n;
  atomic {
    for (n : 1 .. ADDERS) { run Adder() }
    for (n : 1 .. CALLBACKS) {
      run Acquirer(1 << (n - 1));
#if !INLINE
      run PoolThread(1 << (n - 1))
#endif
    }
    run Canceller();
#if GETTERS
    for (n : 1 .. GETTERS) { run Getter(1 << (n - 1)) }
#endif
#if STOPPERS
    run Stopper();
    run Drainer();
#endif
    run Destroyer()
  }
  // No thread can make a step by itself. A queued item waits for those that
  // pause only if nobody else waits for an item. After the shutdown nobody
  // waits.
  timeout;
  assert(!ready || (waiting == 0 && asleep == 0));
  assert(!shutting_down || queued > 0 || waiting == 0);
  assert(!drain_asleep || !(idle || drain_ends != drain_began));
  resume = true;
  timeout;
  assert(!ready || (waiting == 0 && asleep == 0));
  end_it = true;
  timeout;
  assert(over == ALL);
  assert(gone)
}
