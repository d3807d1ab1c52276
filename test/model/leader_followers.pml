// LeaderFollowers (workqueue/internal/leader_followers.h): of WAITERS threads,
// who wakes for the first of many times. Thread `w` sleeps in parker `w`. For
// the models to include; every call is part of a critical section.

#define NOBODY WAITERS

byte leader = NOBODY;
byte leader_sleeps_until;
chan followers = [WAITERS] of { byte };
bool following[WAITERS];

// BeginWait(), of waiter `w`; to `wake_at`.
inline BeginWait(w, first, deadline, wake_at) {
  if
  :: leader == NOBODY && first < NEVER ->
    leader = w;
    leader_sleeps_until = (first < deadline -> first : deadline);
    wake_at = leader_sleeps_until
  :: else ->
    followers!w;
    following[w] = true;
    wake_at = deadline
  fi
}

// EndWait()
inline EndWait(w) {
  if
  :: leader == w -> leader = NOBODY; leader_sleeps_until = PAST  // forgotten
  :: following[w] -> followers??eval(w); following[w] = false
  :: else
  fi
}

// Wake(), of the leader.
inline WakeLeader() {
  leader_sleeps_until = PAST;
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
#ifndef BROKEN_LEADER_SLEEPS_ON
  :: leader != NOBODY && time < leader_sleeps_until -> WakeLeader()
#endif
  :: else
  fi
}

// WakeAll(), with `w` to go through them.
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

// The invariant: if there is anything to wait for, `first` being its time, and
// a thread waits, there is a leader, which sleeps until then at the latest or
// has been woken.
#define HAS_LEADER(first)               \
  (first == NEVER || !SOMEBODY_WAITS || \
   (leader != NOBODY && leader_sleeps_until <= first))
