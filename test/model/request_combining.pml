// SharedQueueCore::Send() (workqueue/shared/internal/shared_queue_core.h):
// threads of one process whose calls go to the engine in common requests. One
// request is on its way at a time. The thread of any call sends it, for all
// calls that wait or for many of them. A call that has less time goes alone: its
// thread waits until no request is on its way, or gives up.
//
// Checked with:
//   -DCALLERS=3                          | holds, and all_end
//   -DCALLERS=2 -DCALLS=3                | holds, and all_end
//   -DCALLERS=3 -DCALLS=2 -DMOST=1       | holds, and all_end
//   -DCALLERS=4 -DMOST=2                 | holds, and all_end
//   -DCALLERS=2 -DALONE=2                | holds, and all_end
//   -DCALLERS=3 -DALONE=1 -DMOST=1       | holds, and all_end
//   -DBROKEN_LEADER_HANDS_OVER_TO_NOBODY | invalid end state
//   -DBROKEN_LEADER_WAKES_NOBODY         | invalid end state
//   -DMOST=1 -DBROKEN_LEADER_SENDS_ONCE  | assertion .*done
//   -DBROKEN_SENDS_MEANWHILE             | assertion .*sending
//   -DALONE=1 -DBROKEN_ALONE_HANDS_OVER_TO_NOBODY | invalid end state
//   -DALONE=1 -DBROKEN_ALONE_DOES_NOT_WAIT        | assertion .*sending

#ifndef CALLERS
#define CALLERS 3
#endif
#ifndef CALLS  // of each caller, one after the other
#define CALLS 1
#endif
#ifndef ALONE  // the number of calls that go alone
#define ALONE 0
#endif
#ifndef MOST  // the number of calls that fit into a request
#define MOST CALLERS
#endif

// Guarded by mu_. A critical section is an atomic block.
chan calls = [CALLERS] of { byte };  // calls_
bool sending;
bool done[CALLERS];
bool asleep[CALLERS];  // whether the thread waits for `changed` of its call

byte ended;  // state of the model that the code does not have

// The beginning of SendTogether(). Then the thread waits for more calls, for a
// short time, without the lock.
inline BeginToLead() {
  assert(!sending);
  sending = true;
  leads = true
}

// The thread has waited. A set of calls has a bit for each.
inline BeginRequest(set, i) {
  leads = false;
  sends = true;
  do
  :: len(calls) > 0 && i < MOST -> calls?one; set = set | (1 << one); i++
  :: else -> break
  od;
  i = 0
}

// The end of SendTogether()
inline EndRequest(set, i) {
  sending = false;
  for (i : 0 .. CALLERS - 1) {
    if
    :: set & (1 << i) ->
      done[i] = true;
#ifndef BROKEN_LEADER_WAKES_NOBODY
      asleep[i] = false
#endif
    :: else
    fi
  }
  i = 0;
  set = 0
}

proctype Caller(byte self) {
  byte left = CALLS;
  byte set, i, one;
  bool leads;  // waits for more calls, or
  bool sends;  // has sent a request, and the lock is free meanwhile
again:
  atomic { left--; done[self] = false; calls!self }
  // Between the two, others may take the lock. This gives more interleavings.
look:
  atomic {
    !asleep[self] ->
    if
    :: leads -> BeginRequest(set, i); goto look
    :: sends ->
      sends = false;
      EndRequest(set, i);
#ifdef BROKEN_LEADER_SENDS_ONCE
      goto over
#endif
    :: else
    fi;
    if
#ifdef BROKEN_SENDS_MEANWHILE
    :: !done[self] -> BeginToLead(); goto look
#else
    :: !done[self] && sending -> asleep[self] = true; goto look
    :: !done[self] && !sending -> BeginToLead(); goto look
#endif
    :: done[self]
    fi;
over:
    assert(done[self]);
#ifndef BROKEN_LEADER_HANDS_OVER_TO_NOBODY
    if
    :: !sending && len(calls) > 0 -> calls?<one>; asleep[one] = false; one = 0
    :: else
    fi;
#endif
    if
    :: left > 0 -> goto again
    :: else -> ended++
    fi
  }
}

// SendAlone(). The call is the first one in the queue only while its thread has
// the lock.
proctype Alone() {
  bool hands_over;
  atomic {
    if
#ifndef BROKEN_ALONE_DOES_NOT_WAIT
    :: !sending -> sending = true
#else
    :: assert(!sending); sending = true
#endif
    :: goto over  // Its time has passed.
    fi
  }
  // Its request is on its way.
  atomic {
    sending = false;
#ifndef BROKEN_ALONE_HANDS_OVER_TO_NOBODY
    if
    :: len(calls) > 0 -> byte one; calls?<one>; asleep[one] = false
    :: else
    fi
#endif
  }
over:
  skip
}

ltl all_end { <> (ended == CALLERS) }

init {
  byte n;
  atomic {
    for (n : 1 .. CALLERS + ALONE) {
      if
      :: n <= CALLERS -> run Caller(n - 1)
      :: else -> run Alone()
      fi
    }
  }
}
