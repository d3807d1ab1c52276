// WakeTime (workqueue/base/wake_time.h), used as its comment describes. One
// thread, the sleeper, handles events when they are due and sleeps in between.
// Other threads add events.
//
// Checked with:
//   -DADDERS=2 -DLAST=3                | holds, and sleeper_ends
//   -DADDERS=3                         | holds, and sleeper_ends
//   -DBROKEN_WAKE_TIME_NOT_FORGOTTEN   | assertion .*wake_ups
//   -DBROKEN_WAKE_TIME_WAKES_IF_LATER  | invalid end state
//   -DBROKEN_SET_AFTER_UNLOCK          | assertion
//   -DBROKEN_CLEAR_AFTER_LOOK          | invalid end state
//   -DBROKEN_WAKE_BEFORE_EVENT         | assertion .*event
//   -DBROKEN_STOP_WAKES_BEFORE         | invalid end state
//   -DBROKEN_UNPARK_FORGETS            | assertion .*event

#ifndef ADDERS  // each adds an event
#define ADDERS 2
#endif
#ifndef LAST
#define LAST 2
#endif
#define PARKERS 1
#include "parker.pml"
#include "wake_time.pml"

// Guarded by the lock. A critical section is an atomic block.
byte event[ADDERS];  // when each event is due; 0 if there is none
byte wake_time;
bool stopping;

// State of the model that the code does not have.
byte wake_ups;  // since the last Set()
bool sleeper_ended;

// Every due event has been handled.
byte t;
inline CheckAtRest() {
  d_step {
    for (t : 0 .. ADDERS - 1) { assert(event[t] == 0 || event[t] > now) }
    t = 0
  }
}
active proctype Time() { TimeGoesBy() }

inline WakeSleeper() {
  wake_ups++;
  assert(wake_ups == 1);
  Unpark(0)
}

// Each thread adds its own event.
proctype Adder(byte self) {
  byte at;
  atomic {
    at = now;
    if
    :: true
    :: at = at + 1
    :: at = at + 2
    fi
  }
#ifdef BROKEN_WAKE_BEFORE_EVENT
  atomic { IF_WAKE_BY(wake_time, at, WakeSleeper()) }
#endif
  atomic {
    event[self] = at;
#ifndef BROKEN_WAKE_BEFORE_EVENT
    IF_WAKE_BY(wake_time, at, WakeSleeper());
#endif
    at = 0
  }
}

// Ends the sleeper, whatever its wake time is.
inline Stop() {
#ifdef BROKEN_STOP_WAKES_BEFORE
  atomic { IF_WAKE_BY(wake_time, PAST, WakeSleeper()) }
  stopping = true
#else
  atomic { stopping = true; IF_WAKE_BY(wake_time, PAST, WakeSleeper()) }
#endif
}

proctype Sleeper() {
  byte at, wake_at, i;
  do
  ::
#ifndef BROKEN_CLEAR_AFTER_LOOK
    atomic { ClearWakeTime(wake_time) }
#endif
    at = now;
    atomic {
      wake_at = NEVER;
      for (i : 0 .. ADDERS - 1) {
        if
        :: event[i] != 0 && event[i] <= at -> event[i] = 0
        :: event[i] > at && event[i] < wake_at -> wake_at = event[i]
        :: else
        fi
      }
      i = 0;
      at = 0;
      if
      :: stopping -> wake_at = 0; break
      :: else
      fi;
#ifdef BROKEN_SET_AFTER_UNLOCK
    }
    atomic {
#endif
      SetWakeTime(wake_time, wake_at);
      wake_ups = 0
    }
#ifdef BROKEN_CLEAR_AFTER_LOOK
    atomic { ClearWakeTime(wake_time) }
#endif
    ParkUntil(0, wake_at)
  od;
  sleeper_ended = true
}

ltl sleeper_ends { <> sleeper_ended }

init {
  byte n;
  atomic {
    run Sleeper();
    for (n : 0 .. ADDERS - 1) { run Adder(n) }
  }
  at_rest_for_good;
  Stop()
}
