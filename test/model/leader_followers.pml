// LeaderFollowers (workqueue/timer/internal/leader_followers.h): WAITERS
// threads, of which one sleeps until the first of many times. Thread `w` sleeps
// in parker `w`. Other models include this file. Every call is part of a
// critical section.

#include "wake_time.pml"

#define NOBODY WAITERS

byte leader = NOBODY;
byte leader_wake_time;
chan followers = [WAITERS] of { byte };
bool following[WAITERS];

// BeginWait() of waiter `w`. Stores the result in `wake_at`.
inline BeginWait(w, first, deadline, wake_at) {
  if
  :: leader == NOBODY && first < NEVER ->
    leader = w;
    wake_at = (first < deadline -> first : deadline);
    SetWakeTime(leader_wake_time, wake_at)
  :: else ->
    followers!w;
    following[w] = true;
    wake_at = deadline
  fi
}

// EndWait()
inline EndWait(w) {
  if
  :: leader == w -> leader = NOBODY; ClearWakeTime(leader_wake_time)  // forgotten
  :: following[w] -> followers??eval(w); following[w] = false
  :: else
  fi
}

// WakeLeader()
inline WakeLeader() {
  ClearWakeTime(leader_wake_time);
  Unpark(leader)
}

// PassOnLead()
inline PassOnLead(anything_to_wait_for) {
  if
  :: leader == NOBODY && (anything_to_wait_for) && len(followers) > 0 ->
    followers?leader;
    following[leader] = false;
    WakeLeader()
  :: else
  fi
}

// WakeBy()
inline WakeBy(time) {
  if
  :: leader == NOBODY -> PassOnLead(time < NEVER)
  :: else ->
#ifndef BROKEN_LEADER_SLEEPS_ON
    IF_WAKE_BY(leader_wake_time, time, Unpark(leader))
#endif
  fi
}

// WakeAll(); `w` is the loop variable.
inline WakeAll(w) {
  if
  :: leader != NOBODY -> WakeLeader()
  :: else
  fi;
#ifndef BROKEN_FOLLOWERS_SLEEP_ON
  for (w : 0 .. WAITERS - 1) {
    if
    :: following[w] -> Unpark(w)
    :: else
    fi
  }
  w = 0
#endif
}

#define SOMEBODY_WAITS (leader != NOBODY || len(followers) > 0)

// The invariant: if there is an event to wait for, at time `first`, and a
// thread waits, then there is a leader. The leader sleeps until `first` at the
// latest, or has been woken.
#define HAS_LEADER(first)               \
  (first == NEVER || !SOMEBODY_WAITS || \
   (leader != NOBODY && !IS_AFTER(leader_wake_time, first)))
