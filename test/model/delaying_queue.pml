// DelayingQueue (workqueue/delaying_queue.h) and AddChannel
// (workqueue/internal/add_channel.h): threads that add items for later,
// the loop that adds them when their time has come, a ticker that shares the
// loop, the shutdown and the destructors.
//
// Checked with:
//   -DPUSHERS=2 -DLAST=3 -DREFUSALS=1                                | holds, and loop_ends
//   -DPUSHERS=2 -DLAST=3 -DTICKERS=1                                 | holds
//   -DPUSHERS=3                                                      | holds | slow
//   -DPUSHERS=3 -DCAPACITY=1                                         | holds | slow
//   -DPUSHERS=2 -DCAPACITY=1                                         | holds
//   -DPUSHERS=2 -DMOVERS=1                                           | holds | slow
//   -DPUSHERS=2 -DLAST=3 -DFAILURES=2                                | holds, and loop_ends
//   -DPUSHERS=3 -DCAPACITY=1 -DFAILURES=1 -DLAST=1                   | holds | slow
//   -DPUSHERS=1 -DMOVERS=1 -DFAILURES=2                              | holds
//   -DPUSHERS=2 -DMOVERS=1 -DFAILURES=1 -DLAST=1                     | holds
//   -DPUSHERS=2 -DSTOPPERS=1 -DEARLY_END=1                           | holds, and loop_ends
//   -DPUSHERS=1 -DSTOPPERS=1 -DMOVERS=1                              | holds
//   -DPUSHERS=1 -DECHOES=1 -DEARLY_END=1                             | holds
//   -DPUSHERS=2 -DLAST=3 -DTICKERS=1 -DDRIVEN                        | holds
//   -DPUSHERS=2 -DSTOPPERS=1 -DEARLY_END=1 -DDRIVEN                  | holds, and loop_ends
//   -DBROKEN_SLEEPS_UNTOLD                                           | assertion
//   -DBROKEN_EVENT_READ_AFTER_RUN -DDRIVEN                           | assertion
//   -DBROKEN_SLEEP_AFTER_CHECK                                       | assertion
//   -DBROKEN_SLEEP_WITHOUT_CHECK                                     | assertion
//   -DBROKEN_SLEEP_FORGETS_RECEIVED -DLAST=3 -DFAILURES=2            | assertion .*received
//   -DBROKEN_END_RUN_FORGETS_WAKE                                    | assertion
//   -DBROKEN_WAKE_ONLY_UNPARKS                                       | assertion
//   -DBROKEN_UNPARK_FORGETS                                          | assertion
//   -DBROKEN_WAKE_AFTER_UNLOCK                                       | assertion .*parked
//   -DBROKEN_RESCHEDULE_WAKES_NOBODY -DMOVERS=1                      | assertion
//   -DBROKEN_DUE_COUNTS_AS_WOKEN                                     | assertion
//   -DBROKEN_NOT_DUE_IS_NOT_PUSHED                                   | assertion .*owed
//   -DBROKEN_FULL_IS_NOT_PUSHED -DPUSHERS=3 -DCAPACITY=1             | assertion .*owed
//   -DBROKEN_REMOVE_DOES_NOT_WAIT -DEARLY_END=1                      | assertion .*running
//   -DBROKEN_END_RUN_KEEPS_REMOVED -DEARLY_END=1                     | assertion .*is_client
//   -DBROKEN_WAKE_TAKES_REMOVED -DECHOES=1 -DEARLY_END=1             | assertion .*is_client
//   -DBROKEN_STOP_WAKES_NOBODY                                       | acceptance cycle

#ifndef PUSHERS  // each adds an item; at most 3
#define PUSHERS 2
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef HALF  // the size at which a push always wakes the loop
#define HALF CAPACITY
#endif
#ifndef MOVERS  // threads that call Reschedule() or CancelDelayed(); at most 1
#define MOVERS 0
#endif
#ifndef TICKERS  // at most 1
#define TICKERS 0
#endif
#ifndef STOPPERS  // threads that call ShutDown(); at most 1
#define STOPPERS 0
#endif
#ifndef REFUSALS  // how often the queue below refuses an item
#define REFUSALS 0
#endif
#ifndef FAILURES  // how often a thread fails to take in items
#define FAILURES 0
#endif
#ifndef ECHOES  // how often the queue below calls AddAfter(), which wakes the loop
#define ECHOES 0
#endif
#ifndef EARLY_END  // whether the queue may end before all due items are added
#define EARLY_END 0
#endif
#ifndef LAST
#define LAST 2
#endif
#define PARKERS 1
#include "parker.pml"
#include "wake_time.pml"
#include "waiting_loop.pml"

#define DELAYING 0
#define TICKER 1

// Guarded by the channel's mu_. For each item, when it is due.
byte channel[PUSHERS];
byte additions;
byte loop_wake_time;
bool closed;

// DelayingQueue::mu_, and what it guards: the items that have been received but
// not taken in, and the waiting items.
bool locked;
byte received[PUSHERS];
#define SOME_RECEIVED \
  (received[0] + received[PUSHERS / 2] + received[PUSHERS - 1] > 0)
byte waiting[PUSHERS];
bool stopped;

byte next_tick = 2;

// State of the model that the code does not have.
bool stalled;  // the loop has failed to take in items, and will try again
byte owed;  // a bit for each item that must be added
byte callers = PUSHERS + MOVERS + STOPPERS;  // threads that may still call
bool destroyed;
byte refusals = REFUSALS;
byte failures = FAILURES;
byte echoes = ECHOES;

// No due item is left, and no item at all after the shutdown. While the loop is
// stalled, items may be left, but the loop tries again after one unit of time.
byte t;
inline CheckAtRest() {
  d_step {
    if
    :: !stopped && !destroyed ->
      for (t : 0 .. PUSHERS - 1) {
        assert(channel[t] == 0 || channel[t] > now || stalled);
        assert(received[t] == 0 || received[t] > now || stalled);
        assert(waiting[t] == 0 || waiting[t] > now || stalled);
        assert(!(owed & (1 << t)) || channel[t] != 0 || received[t] != 0 ||
               waiting[t] != 0)
      }
      assert(!stalled || LOOP_COMES_BY(now + 1))
    :: stopped && !destroyed ->
      for (t : 0 .. PUSHERS - 1) {
        assert(channel[t] == 0 && received[t] == 0 && waiting[t] == 0)
      }
    :: else
    fi;
    assert(!is_client[TICKER] || next_tick > now);
    t = 0
  }
}
active proctype Time() { TimeGoesBy() }

// AddChannel::WakeBy()
inline WakeBy(time) { IF_WAKE_BY(loop_wake_time, time, Wake(DELAYING)) }

#define EARLIER(time, than) (time != 0 && time < than)

// WaitingItems::NextWake(). Stores the result in `wake`.
inline NextWake(wake) {
  wake = NEVER;
  for (i : 0 .. PUSHERS - 1) {
    if
    :: EARLIER(waiting[i], wake) -> wake = waiting[i]
    :: else
    fi
  }
  i = 0
}

// AddChannel::Receive()
inline Receive() {
  for (i : 0 .. PUSHERS - 1) {
    if
    :: channel[i] != 0 && !EARLIER(received[i], channel[i]) ->
      received[i] = channel[i]
    :: else
    fi;
    channel[i] = 0
  }
  i = 0;
  additions = 0
}

// Takes in the received item `it`.
inline TakeIn(it) {
  if
  :: received[it] != 0 && !EARLIER(waiting[it], received[it]) ->
    waiting[it] = received[it]
  :: else
  fi;
  received[it] = 0
}

// DelayingQueue::DrainAddChannel(). Each item is added once, so the order in
// which received items are taken in does not matter.
inline DrainAddChannel() {
  Receive();
  for (i : 0 .. PUSHERS - 1) { TakeIn(i) }
  i = 0
}

// A DrainAddChannel() that fails, either before it has received more, or for
// some of the items.
inline FailToDrain() {
  failures--;
  if
  :: SOME_RECEIVED
  :: Receive();
    for (i : 0 .. PUSHERS - 1) {
      if
      :: TakeIn(i)
      :: true
      fi
    }
    i = 0
  fi
}

// A DrainAddChannel() of a call for `item`. If it fails, it does so for others.
inline DrainAddChannelFor(item) {
  if
  :: failures > 0 -> FailToDrain(); Receive(); TakeIn(item)
  :: true -> DrainAddChannel()
  fi
}

// AddChannel::Close()
inline Close() {
  closed = true;
  for (i : 0 .. PUSHERS - 1) { channel[i] = 0 }
  i = 0;
  additions = 0
}

// The time by which a push must wake the loop.
#define WAKE_BY (additions >= HALF -> PAST : ready_at)

// AddChannel::PushLocked()
inline PushLocked() {
  channel[self] = ready_at;
  additions++;
#ifdef BROKEN_WAKE_AFTER_UNLOCK
  IF_WAKE_BY(loop_wake_time, WAKE_BY, wakes = true)
#else
  WakeBy(WAKE_BY)
#endif
}

// AddAfter(). Each thread adds its own item.
proctype Pusher(byte self) {
  byte i, ready_at;
  bool wakes;
  if
  :: stopped -> goto end  // ShuttingDown()
  :: else
  fi;
  atomic {
    ready_at = now;
    if
    :: ready_at = ready_at + 1
    :: ready_at = ready_at + 2
    fi
  }
  // AddChannel::TryPush()
  atomic {
    if
    :: closed -> goto end
    :: else
    fi;
    owed = owed | (1 << self);
    if
    :: additions >= CAPACITY -> goto take_in
    :: additions < CAPACITY && IS_AFTER(loop_wake_time, ready_at) ->
#ifdef BROKEN_DUE_COUNTS_AS_WOKEN
      ClearWakeTime(loop_wake_time);
#endif
      skip
    :: else -> PushLocked(); goto pushed
    fi
  }
  // AddIfDue()
  if
  :: now >= ready_at ->
    atomic { !locked -> locked = true }
    atomic { DrainAddChannelFor(self) }
    atomic {
      // AddInsteadOfWaiting()
      locked = false;
      if
      :: refusals > 0 -> refusals--
      :: true -> waiting[self] = 0; owed = owed & ~(1 << self); goto end
      fi
    }
  :: else
  fi;
#ifdef BROKEN_NOT_DUE_IS_NOT_PUSHED
  goto end;
#endif
  goto push;
take_in:
  // MakeRoomInAddChannel(). It waits for room for a short time, but not for the
  // lock, and an exception may end it.
  atomic {
    if
    :: !locked && !stopped ->
      if
      :: failures > 0 -> FailToDrain()
      :: true -> DrainAddChannel()
      fi
    :: true
    fi
  }
#ifdef BROKEN_FULL_IS_NOT_PUSHED
  goto end;
#endif
push:
  // AddChannel::Push()
  atomic {
    if
    :: closed -> owed = owed & ~(1 << self); goto end
    :: else -> PushLocked()
    fi
  }
pushed:
#ifdef BROKEN_WAKE_AFTER_UNLOCK
  if
  :: wakes -> atomic { Wake(DELAYING) }
  :: else
  fi;
#endif
  // The loop will take care of the item.
  assert(stopped || stalled || channel[self] == 0 ||
         LOOP_COMES_BY(channel[self]));
end:
  atomic { ready_at = 0; callers-- }
}

// Reschedule() or CancelDelayed() of the first item.
proctype Mover() {
  byte i, to, next;
  to = now;
  atomic {
    !locked ->
    if
    :: stopped -> goto end
    :: else -> locked = true
    fi
  }
  atomic {
    DrainAddChannelFor(0);
    if
    :: waiting[0] = 0; owed = owed & ~1; locked = false; goto end  // Cancel
    :: to = 0
    :: waiting[0] = to + 1; owed = owed | 1
    :: waiting[0] = to + 2; owed = owed | 1
    fi
  }
  atomic {
    if
    :: to == 0 ->
      // AddInsteadOfWaiting()
      waiting[0] = 0;
      owed = owed & ~1
    :: else ->
      NextWake(next);
#ifndef BROKEN_RESCHEDULE_WAKES_NOBODY
      WakeBy(next)
#endif
    fi;
    locked = false
  }
end:
  atomic { to = 0; next = 0; callers-- }
}

// ShutDown(): StopWaiting(), whose steps hold no lock in between.
proctype Stopper() {
  byte i;
  if
  :: true -> goto end  // or no call at all
  :: true
  fi;
  stopped = true;
  atomic { Close() }
  atomic { Wake(DELAYING) }
end:
  callers--
}

// DelayingQueue::Run()
inline RunDelaying(at, next) {
  if
  :: stopped ->
    atomic { Close() }
    atomic {
      !locked ->
      for (i : 0 .. PUSHERS - 1) { received[i] = 0; waiting[i] = 0 }
      i = 0;
      next = NEVER
    }
  :: else ->
    atomic {
      ClearWakeTime(loop_wake_time);  // AddChannel::Awake()
      stalled = false
    }
    bool failed;
    atomic {
      !locked ->
      if
      :: failures > 0 -> FailToDrain(); failed = true
      :: true -> DrainAddChannel(); failed = false
      fi
    }
    // AddDueBatch(), item by item: mu_ may be released after each.
    do
    ::
      atomic {
        !locked ->
        for (i : 0 .. PUSHERS - 1) {
          if
          :: waiting[i] != 0 && waiting[i] <= at -> break
          :: else
          fi
        }
        if
        :: i == PUSHERS -> i = 0; break
        :: else
        fi;
        if
        :: refusals > 0 -> refusals--; waiting[i] = at + 1  // Postpone()
        :: true -> waiting[i] = 0; owed = owed & ~(1 << i)
        fi;
        if
        :: echoes > 0 -> echoes--; Wake(DELAYING)
        :: true
        fi;
        i = 0
      }
    od;
    atomic {
      !locked ->
      NextWake(next);
#ifdef BROKEN_SLEEP_AFTER_CHECK
      if
      :: additions > 0 -> next = PAST
      :: else
      fi
    }
    SetWakeTime(loop_wake_time, next);
#else
      if
      :: failed ->
        if
        :: next > at + 1 -> next = at + 1
        :: else
        fi;
        stalled = true;
        if
        :: additions == 0 -> SetWakeTime(loop_wake_time, next)
        :: else
        fi
      // AddChannel::SleepUntil()
#ifndef BROKEN_SLEEP_WITHOUT_CHECK
      :: !failed && additions > 0 -> next = PAST
#endif
#ifndef BROKEN_SLEEP_FORGETS_RECEIVED
      :: !failed && additions == 0 && SOME_RECEIVED ->
        SetWakeTime(loop_wake_time, next);
        next = PAST
#endif
      :: else -> SetWakeTime(loop_wake_time, next)
      fi
    }
#endif
  fi
}

// Ticker::Run()
inline RunTicker(at, next) {
  if
  :: at >= next_tick -> next_tick = next_tick + ((at - next_tick) / 2 + 1) * 2
  :: else
  fi;
  next = next_tick
}

inline Run(client, at, next) {
  if
  :: client == DELAYING -> RunDelaying(at, next)
  :: else -> RunTicker(at, next)
  fi
}

proctype Loop() {
  byte i;
  LoopUntilStopped()
}

ltl loop_ends { <> loop_ended }

// The lifetime of the queue. It ends when all calls have returned.
init {
  byte n;
  run Loop();
  atomic { AddClient(DELAYING) }
#if TICKERS
  atomic { AddClient(TICKER) }
#endif
  atomic {
    for (n : 1 .. PUSHERS) { run Pusher(n - 1) }
#if MOVERS
    run Mover();
#endif
#if STOPPERS
    run Stopper()
#endif
  }
#if !EARLY_END
  at_rest_for_good;
#endif
  callers == 0;
  destroyed = true;
#if TICKERS
  Remove(TICKER);
#endif
  Remove(DELAYING);
  StopLoop()
}
