// Scheduler (workqueue/timer/scheduler.cc): threads that schedule a periodic
// task and a task that runs once, the workers, threads that cancel a task and
// wait, the drain and the destructor.
//
// Checked with:
//   -DWORKERS=2 -DLAST=3                          | holds
//   -DWORKERS=2 -DCANCELLERS=1                    | holds, and workers_end
//   -DWORKERS=2 -DDRAINERS=1                      | holds, and workers_end
//   -DWORKERS=2 -DCANCELLERS=1 -DDRAINERS=1       | holds | slow
//   -DWORKERS=1 -DCANCELLERS=2                    | holds, and workers_end
//   -DBROKEN_WORKER_KEEPS_LEAD                    | assertion
//   -DBROKEN_LEADER_SLEEPS_ON                     | assertion
//   -DBROKEN_FOLLOWERS_SLEEP_ON                   | invalid end state
//   -DBROKEN_UNPARK_FORGETS                       | invalid end state
//   -DBROKEN_CANCEL_DOES_NOT_WAIT -DCANCELLERS=1  | assertion .*held
//   -DBROKEN_GONE_BEFORE_DESTROYED -DCANCELLERS=1 | assertion .*held
//   -DBROKEN_GONE_BEFORE_CANCELLED -DCANCELLERS=2 | assertion .*held
//   -DBROKEN_DRAIN_FORGETS_DUE -DDRAINERS=1       | assertion .*to_drain
//   -DBROKEN_CANCELLED_RUNS_ON -DCANCELLERS=1     | assertion .*cancelled

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CANCELLERS  // threads that call CancelAndWait() for either task
#define CANCELLERS 0
#endif
#ifndef DRAINERS  // threads that call ShutDownWithDrain()
#define DRAINERS 0
#endif
#ifndef LAST
#define LAST 2
#endif
#define PARKERS WORKERS
#define WAITERS WORKERS
#include "parker.pml"
#include "leader_followers.pml"

#define TASKS 2
#define ANOTHER (NOBODY + 1)
#define NONE TASKS

// Guarded by mu_. A critical section is an atomic block. One that reads the
// clock is two blocks, and `locked` is true in between.
bool locked;
bool is_there[TASKS];
byte due_at[TASKS];  // NEVER while it runs, and when it is withdrawn
byte counted_from[TASKS];  // Task::due_at of a running task
byte period[TASKS];  // 0 if there is no further run
bool has_function[TASKS];
byte user[TASKS] = NOBODY;  // a worker, or ANOTHER
bool shutting_down;
bool dropped_due;

// State of the model that the code does not have.
byte runs[TASKS];  // runs in progress
bool held[TASKS];  // the function and its objects have not been destroyed
bool to_drain[TASKS];
bool cancelled[TASKS];
byte workers = WORKERS;  // the number of workers that have not ended

#define none_is_there (!is_there[0] && !is_there[1])
#define is_due(t, at) (is_there[t] && due_at[t] <= at)

// NextWake()
inline NextWake(first) {
  first = (is_there[0] -> due_at[0] : NEVER);
  if
  :: is_there[1] && due_at[1] < first -> first = due_at[1]
  :: else
  fi
}

// No thread sleeps while a task is due or after the shutdown.
byte first_due;
inline CheckAtRest() {
  d_step {
    NextWake(first_due);
    assert(first_due > now || !SOMEBODY_WAITS);
    assert(HAS_LEADER(first_due));
    assert(!shutting_down || !SOMEBODY_WAITS);
    first_due = 0
  }
}
active proctype Time() { TimeGoesBy() }

// Remove()
inline Remove(t) {
  is_there[t] = false;
  due_at[t] = 0
}

// Schedule() of the task `self`.
proctype Schedule(byte self) {
  byte at, first;
  atomic {
    at = now;
    if
    :: true
    :: at = at + 1
    fi
  }
  atomic {
    !locked ->
    if
    :: !shutting_down ->
      is_there[self] = true;
      has_function[self] = true;
      held[self] = true;
      period[self] = 1 - self;
      due_at[self] = at;
      NextWake(first);
      WakeBy(first)
    :: else
    fi;
    at = 0;
    first = 0
  }
}

// CancelTask() of a task that is in use.
inline CancelTask(t) {
  cancelled[t] = true;
#ifndef BROKEN_CANCELLED_RUNS_ON
  period[t] = 0
#endif
}

// Withdraw()
inline Withdraw(t) {
  user[t] = ANOTHER;
  due_at[t] = NEVER;
  period[t] = 0;
  has_function[t] = false;
  to_drain[t] = false
}

// The end of Destroy()
inline RemoveWithdrawn(t) {
  user[t] = NOBODY;
  Remove(t)
}

// CancelAndWait()
proctype Canceller() {
  byte t;
  if
  :: t = 0
  :: t = 1
  fi;
  atomic {
    !locked ->
    if
    :: !is_there[t] -> assert(!held[t]); goto end
    :: else
    fi;
    if
    :: user[t] == NOBODY ->
      cancelled[t] = true;
      Withdraw(t);
#ifdef BROKEN_GONE_BEFORE_CANCELLED
      RemoveWithdrawn(t);
#endif
      goto destroy
    :: else -> CancelTask(t)
    fi;
#ifndef BROKEN_CANCEL_DOES_NOT_WAIT
    !is_there[t] && !locked;  // AwaitWithDeadline()
#endif
    assert(runs[t] == 0);
    assert(!held[t]);
    goto end
  }
destroy:
  held[t] = false;
#ifndef BROKEN_GONE_BEFORE_CANCELLED
  atomic { !locked -> RemoveWithdrawn(t) }
#endif
end:
  t = 0
}

// StopScheduling(), which reads the clock with the lock. `withdrawn` is a bit
// for each task.
inline StopScheduling(drop_due, at, t, withdrawn) {
  atomic { !locked -> locked = true; at = now }
  atomic {
    shutting_down = true;
    for (t : 0 .. TASKS - 1) {
      period[t] = 0;
      if
      :: is_there[t] && user[t] == NOBODY && (drop_due || due_at[t] > at) ->
        dropped_due = dropped_due || due_at[t] <= at;
        Withdraw(t);
        withdrawn = withdrawn | (1 << t)
      :: is_there[t] && user[t] == NOBODY && !drop_due && due_at[t] <= at ->
        to_drain[t] = true
      :: else
      fi
    }
    t = 0;
    at = 0;
    WakeAll(t);
    locked = false
  }
  d_step {
    for (t : 0 .. TASKS - 1) {
      if
      :: withdrawn & (1 << t) -> held[t] = false
      :: else
      fi
    }
  }
  atomic {
    !locked;
    for (t : 0 .. TASKS - 1) {
      if
      :: withdrawn & (1 << t) -> RemoveWithdrawn(t)
      :: else
      fi
    }
    withdrawn = 0;
    t = 0
  }
}

// ShutDownWithDrain()
proctype Drainer() {
  byte at, t, withdrawn;
  if
  :: true -> goto end  // or no call at all
  :: true
  fi;
  StopScheduling(false, at, t, withdrawn);
  atomic {
#ifdef BROKEN_DRAIN_FORGETS_DUE
    !locked && user[0] == NOBODY && user[1] == NOBODY;
#else
    !locked && none_is_there;
#endif
    assert(dropped_due || (none_is_there && !to_drain[0] && !to_drain[1]))
  }
end:
}

// Work() of the worker `self`.
proctype Worker(byte self) {
  byte task = NONE, wake_at, at, first;
  do
  ::
    if
    :: task == NONE -> ParkUntil(self, wake_at)
    :: task != NONE && has_function[task] ->
      // Run(), which may pause, or cancel its task.
      atomic {
        runs[task]++;
        assert(runs[task] == 1);
        to_drain[task] = false
      }
      if
      :: true
      :: true -> at_rest_for_good
      :: atomic { !locked -> CancelTask(task) }
      fi;
      runs[task]--
    :: else
    fi;
    atomic {
      !locked ->
      if
#ifndef BROKEN_GONE_BEFORE_DESTROYED
      :: task != NONE && period[task] == 0 && has_function[task] ->
        has_function[task] = false;
        goto destroy
#endif
      :: else -> locked = true; at = now
      fi
    }
    atomic {
      EndWait(self);
      // EndRun()
      if
      :: task != NONE ->
        user[task] = NOBODY;
        if
#ifdef BROKEN_GONE_BEFORE_DESTROYED
        :: period[task] != 0 ->
#else
        :: has_function[task] ->
#endif
          due_at[task] = counted_from[task] + period[task]
        :: else -> Remove(task)
        fi;
        counted_from[task] = 0
      :: else
      fi;
      // BeginRun()
      if
      :: is_due(0, at) -> task = 0
      :: is_due(1, at) -> task = 1
      :: else -> task = NONE
      fi;
      if
      :: task != NONE ->
        assert(!cancelled[task]);
        user[task] = self;
        counted_from[task] = at;
        due_at[task] = NEVER
      :: task == NONE && shutting_down -> at = 0; locked = false; break
      :: else
      fi;
      at = 0;
      NextWake(first);
      if
      :: task == NONE -> BeginWait(self, first, NEVER, wake_at)
      :: else
      fi;
#ifndef BROKEN_WORKER_KEEPS_LEAD
      WakeBy(first);
#endif
      first = 0;
      locked = false
    }
    goto next;
destroy:
    held[task] = false;
next:
  od;
  workers--
}

ltl workers_end { <> (workers == 0) }

init {
  byte n, at, t, withdrawn;
  atomic {
    for (n : 0 .. WORKERS - 1) { run Worker(n) }
    for (n : 0 .. TASKS - 1) { run Schedule(n) }
#if CANCELLERS
    for (n : 1 .. CANCELLERS) { run Canceller() }
#endif
#if DRAINERS
    run Drainer()
#endif
  }
  at_rest_for_good;
  // ~Scheduler()
  StopScheduling(true, at, t, withdrawn);
  workers == 0
}
