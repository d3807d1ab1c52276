// DelayQueue (workqueue/timer/delay_queue.h): threads that push, reset and
// cancel values, threads that take values when they are due, with a deadline or
// without, and the shutdown.
//
// Checked with:
//   -DTAKERS=2 -DLAST=3                    | holds, and takers_end
//   -DTAKERS=3                             | holds
//   -DTAKERS=2 -DLAST=3 -DMOVERS=1         | holds
//   -DTAKERS=2 -DLAST=3 -DSTOPPERS=1       | holds, and takers_end
//   -DTAKERS=2 -DMOVERS=1 -DSTOPPERS=1     | holds
//   -DBROKEN_TAKER_KEEPS_LEAD              | assertion
//   -DBROKEN_LEAVES_AT_DEADLINE_WITH_LEAD  | assertion
//   -DBROKEN_LEADER_SLEEPS_ON              | assertion
//   -DBROKEN_PUSH_WAKES_BEFORE             | assertion
//   -DBROKEN_RESET_WAKES_NOBODY -DMOVERS=1 | assertion
//   -DBROKEN_FOLLOWERS_SLEEP_ON            | invalid end state
//   -DBROKEN_SHUT_DOWN_WAKES_NOBODY        | acceptance cycle
//   -DBROKEN_UNPARK_FORGETS                | invalid end state

#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef PUSHERS  // each pushes a value
#define PUSHERS 2
#endif
#ifndef MOVERS  // threads that call Reset() or Cancel() for value 0; at most 1
#define MOVERS 0
#endif
#ifndef STOPPERS  // threads that call ShutDown() at any time
#define STOPPERS 0
#endif
#ifndef LAST
#define LAST 2
#endif
#define PARKERS TAKERS
#define WAITERS TAKERS
#include "parker.pml"
#include "leader_followers.pml"

// Guarded by mu_. A critical section is an atomic block. One that reads the
// clock is two blocks, and `locked` is true in between.
bool locked;
byte due_at[PUSHERS];  // of the values in the queue; 0 for others
byte values;
bool shutting_down;

byte takers = TAKERS;  // the number of threads that may still take

// NextWake(). Stores the result in `first`; `v` is the loop variable.
inline NextWake(first, v) {
  first = NEVER;
  for (v : 0 .. PUSHERS - 1) {
    if
    :: due_at[v] != 0 && due_at[v] < first -> first = due_at[v]
    :: else
    fi
  }
  v = 0
}

// No thread sleeps while a value is due or after the shutdown.
byte first_due, v_at_rest;
inline CheckAtRest() {
  d_step {
    NextWake(first_due, v_at_rest);
    assert(first_due > now || !SOMEBODY_WAITS);
    assert(HAS_LEADER(first_due));
    assert(!shutting_down || !SOMEBODY_WAITS);
    first_due = 0
  }
}
active proctype Time() { TimeGoesBy() }

// Push(), which reads the clock without the lock.
proctype Pusher(byte self) {
  byte at, first, v;
  atomic {
    at = now;
    if
    :: at = at + 1
    :: at = at + 2
    fi
  }
#ifdef BROKEN_PUSH_WAKES_BEFORE
  atomic { !locked -> WakeBy(at) }
#endif
  atomic {
    !locked ->
    if
    :: !shutting_down ->
      due_at[self] = at;
      values++;
      NextWake(first, v);
#ifndef BROKEN_PUSH_WAKES_BEFORE
      WakeBy(first)
#endif
    :: else
    fi;
    at = 0;
    first = 0
  }
}

// Reset() or Cancel() of the first value.
proctype Mover() {
  byte at, first, v;
  at = now;
  atomic {
    !locked ->
    if
    :: due_at[0] == 0  // removed, or not pushed yet
    :: due_at[0] != 0 ->
      if
      :: due_at[0] = 0; values--  // Cancel()
      :: due_at[0] = at
      :: due_at[0] = at + 2
      fi;
      NextWake(first, v);
#ifndef BROKEN_RESET_WAKES_NOBODY
      if
      :: due_at[0] != 0 -> WakeBy(first)
      :: else
      fi
#endif
    fi;
    at = 0;
    first = 0
  }
}

// ShutDown(), which may come after another one. Reads the clock without the
// lock.
inline ShutDown(at, v) {
  at = now;
  atomic {
    !locked ->
    if
    :: !shutting_down ->
      shutting_down = true;
      for (v : 0 .. PUSHERS - 1) {
        if
        :: due_at[v] > at -> due_at[v] = 0; values--
        :: else
        fi
      }
      v = 0;
#ifndef BROKEN_SHUT_DOWN_WAKES_NOBODY
      WakeAll(v)
#endif
    :: else
    fi;
    at = 0
  }
}

proctype Stopper() {
  byte at, v;
  ShutDown(at, v)
}

// Takes values until the shutdown: TakeDue(), sometimes with a deadline. May
// pause in between.
proctype Taker(byte self) {
  byte deadline, at, wake_at, first, v;
  do
  ::
    if
    :: deadline = NEVER
    :: now < LAST -> deadline = LAST
    fi;
    do
    ::
      atomic { !locked -> locked = true; EndWait(self); at = now }
      atomic {
        for (v : 0 .. PUSHERS - 1) {
          if
          :: due_at[v] != 0 && due_at[v] <= at -> break
          :: else
          fi
        }
        locked = false;
        if
        :: v < PUSHERS ->
          due_at[v] = 0;
          values--;
          v = 0; at = 0;
#ifndef BROKEN_TAKER_KEEPS_LEAD
          PassOnLead(values > 0);
#endif
          break
        :: else -> v = 0
        fi;
        if
        :: shutting_down -> at = 0; PassOnLead(values > 0); goto end
        :: !shutting_down && deadline <= at ->
          at = 0;
#ifndef BROKEN_LEAVES_AT_DEADLINE_WITH_LEAD
          PassOnLead(values > 0);
#endif
          break
        :: else
        fi;
        at = 0;
        NextWake(first, v);
        BeginWait(self, first, deadline, wake_at);
        first = 0
      }
      ParkUntil(self, wake_at)
    od;
    if
    :: true
    :: true -> at_rest_for_good
    fi
  od;
end:
  takers--
}

ltl takers_end { <> (takers == 0) }

init {
  byte n, at, v;
  atomic {
    for (n : 0 .. TAKERS - 1) { run Taker(n) }
    for (n : 0 .. PUSHERS - 1) { run Pusher(n) }
#if MOVERS
    run Mover();
#endif
#if STOPPERS
    run Stopper()
#endif
  }
  at_rest_for_good;
  ShutDown(at, v)
}
