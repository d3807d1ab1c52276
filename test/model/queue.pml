// Queue (workqueue/queue.h, workqueue/internal/queue_core.h): threads
// that add items, threads that process items, and the shutdown with and without
// a drain. With BOUND, the queue has an ordering that holds each item back while
// another one is processed.
//
// Checked with:
//   -DWORKERS=2                           | holds, and drain_ends
//   -DPOLLERS=1 -DSTOPPERS=0              | holds
//   -DWORKERS=3 -DSTOPPERS=0 -DSPURIOUS=0 | holds
//   -DAT_A_TIME=2 -DSTOPPERS=0            | holds
//   -DGIVE_BACKS=1 -DSPURIOUS=0           | holds, and drain_ends
//   -DBOUND=1                             | holds, and drain_ends
//   -DBOUND=1 -DPOLLERS=1 -DSPURIOUS=0    | holds
//   -DBOUND=1 -DWORKERS=3 -DADDERS=1      | holds
//   -DBROKEN_WAKE_BEFORE_ADD              | assertion .*asleep
//   -DBROKEN_GET_WAKES_NOBODY             | assertion .*asleep
//   -DBROKEN_WOKEN_FOR_EVER               | assertion .*asleep
//   -DBROKEN_ONLY_WOKEN_COUNT_DOWN        | assertion .*asleep
//   -DBROKEN_STAYS_IN_LIST                | assertion .*asleep
//   -DBROKEN_DONE_WAKES_NOBODY            | assertion .*asleep
//   -DBROKEN_GIVE_BACK_WAKES_NOBODY       | assertion .*asleep
//   -DBROKEN_THROW_WAKES_NOBODY           | assertion .*asleep
//   -DBROKEN_DRAIN_IGNORES_QUEUED         | assertion .*owed
//   -DBROKEN_DONE_ENDS_NO_DRAIN           | acceptance cycle
//   -DBROKEN_SHUT_DOWN_IS_A_FLAG          | assertion .*in_time
//   -DBROKEN_SHUT_DOWN_ENDS_NO_DRAIN      | assertion .*drain_asleep
//   -DBROKEN_SHUT_DOWN_WAKES_NOBODY       | invalid end state
//   -DBOUND=1 -DBROKEN_DONE_WAKES_NOBODY  | assertion .*asleep
//   -DBOUND=1 -DBROKEN_ENDS_ON_HELD_BACK  | assertion .*polls
//   -DBOUND=1 -DWORKERS=3 -DADDERS=1 -DBROKEN_LAST_ENDS_NOBODY | invalid end state

#ifndef ADDERS
#define ADDERS 2
#endif
#ifndef WORKERS  // threads that call Get()
#define WORKERS 2
#endif
#ifndef POLLERS  // threads that call GetWithTimeout(); with WORKERS at most 3
#define POLLERS 0
#endif
#ifndef STOPPERS  // threads that call ShutDown(), and that drain; at most 1
#define STOPPERS 1
#endif
#ifndef AT_A_TIME  // the limit of woken threads that do not run yet
#define AT_A_TIME 1
#endif
#ifndef SPURIOUS  // the number of spurious wake-ups
#define SPURIOUS 1
#endif
#ifndef THROWS  // the number of copies of an item that throw
#define THROWS 1
#endif

#ifndef BOUND  // 1 if at most one item is processed at a time
#define BOUND 0
#endif

#ifndef GIVE_BACKS  // leases that are given back
#ifdef BROKEN_GIVE_BACK_WAKES_NOBODY
#define GIVE_BACKS 1
#else
#define GIVE_BACKS 0
#endif
#endif

// Two items, the bits of a set.
#define BOTH 3

// Guarded by mu_. A critical section is an atomic block.
byte dirty;
byte processing;
bool shutting_down;
byte shut_downs;
byte woken_getters;
// The workers in the list of waiting getters, a bit for each. A worker has been
// woken if it waits without being in the list.
byte getters;
#define queued (dirty & ~processing)
#define idle (dirty == 0 && processing == 0)
// HasNext() of the ordering.
#if BOUND
#define ready (queued != 0 && processing == 0)
#else
#define ready (queued != 0)
#endif
// Not QueueState::MustWait()
#ifdef BROKEN_ENDS_ON_HELD_BACK
#define get_is_over (ready || shutting_down)
#else
#define get_is_over (ready || (shutting_down && queued == 0))
#endif

// The workers that sleep, a bit for each. A worker sleeps until its bit is
// cleared, and then is in a critical section again.
byte asleep;
// Whether the drain waits for drained_.
bool drain_asleep;

// State of the model that the code does not have.
byte owed;  // items added and not handed out since
byte throws = THROWS;
byte give_backs = GIVE_BACKS;
bool resume;  // threads that pause must continue
bool drain_began, drain_ended;
byte before;  // shut_downs when the drain began

// Removes any worker from the list of getters, and wakes it. The code takes the
// last one.
inline WakeOne() {
  if
  :: getters & 1 -> getters = getters & ~1; asleep = asleep & ~1
  :: getters & 2 -> getters = getters & ~2; asleep = asleep & ~2
  :: getters & 4 -> getters = getters & ~4; asleep = asleep & ~4
  fi
  woken_getters++
}

// QueueState::WakeGetters(), at the end of each critical section that holds a
// QueueCore::Lock. With AT_A_TIME of 1 or 2 and two items, at most one is
// wanted for each bit of `queued`.
#define wanted (!ready -> 0 : (queued == BOTH && AT_A_TIME > 1 -> 2 : 1))
inline WakeGetters() {
#ifndef BROKEN_LAST_ENDS_NOBODY
  if
  :: shutting_down && queued == 0 -> asleep = asleep & ~getters
  :: else
  fi;
#endif
  do
  :: woken_getters < wanted && getters != 0 -> WakeOne()
  :: else -> break
  od
}

// Queue::AddLocked()
inline AddLocked(item) {
  dirty = dirty | item;
  owed = owed | item
}

// Queue::Add() of either item, or AddAll() of both.
proctype Adder() {
  byte items;
  atomic {
    if
    :: items = 1
    :: items = 2
    :: items = BOTH
    fi
#ifdef BROKEN_WAKE_BEFORE_ADD
    WakeGetters();
#endif
    if
    :: shutting_down
    :: else ->
      AddLocked(items)
    fi;
#ifndef BROKEN_WAKE_BEFORE_ADD
    WakeGetters()
#endif
  }
}

// QueueCore::Finish(), once the item is no longer processed.
inline Finish() {
  if
#ifndef BROKEN_DONE_ENDS_NO_DRAIN
  :: shutting_down && idle -> drain_asleep = false
#endif
  :: else
  fi;
#ifndef BROKEN_DONE_WAKES_NOBODY
  WakeGetters()
#endif
}

// Done() of `item`, or the end of its lease: Finish() or GiveBack().
inline Done(item) {
  atomic {
    processing = processing & ~item;
    if
    :: give_backs > 0 ->
      give_backs--;
      AddLocked(item);
#ifndef BROKEN_GIVE_BACK_WAKES_NOBODY
      WakeGetters()
#endif
    :: true ->
      Finish()
    fi
  }
}

// A worker may pause, with items or without.
inline Rest() {
  if
  :: true
  :: true -> resume
  fi
}

// Worker `self` gets items until a get reports the shutdown. A poller stops
// also when its deadline passes without an item.
proctype Worker(byte self; bool polls) {
  byte items;
  do
  ::
    atomic {
      // AwaitItem()
      if
      :: !polls ->
        do
        :: !get_is_over ->
          getters = getters | (1 << self);
          do
          :: asleep = asleep | (1 << self);
             !(asleep & (1 << self));
             if
             :: (getters & (1 << self)) && !get_is_over
             :: else -> break
             fi
          od;
          if
          :: getters & (1 << self) ->  // Has not been woken.
#ifndef BROKEN_STAYS_IN_LIST
            getters = getters & ~(1 << self)
#endif
#ifdef BROKEN_ONLY_WOKEN_COUNT_DOWN
          :: !(getters & (1 << self)) && get_is_over ->
            woken_getters--
          :: !(getters & (1 << self)) && !get_is_over
#elif defined(BROKEN_WOKEN_FOR_EVER)
          :: else
#else
          :: else -> woken_getters--
#endif
          fi
        :: else -> break
        od
      :: else ->
        // AwaitWithDeadline() evaluates the condition itself.
        if
        :: get_is_over
        :: true
        fi
      fi
      if
      :: !ready ->
        assert(polls || queued == 0);
        break
      :: else
      fi
      // HandOut() of any queued item.
      if
      :: queued & 1 -> items = 1
      :: queued & 2 -> items = 2
      :: queued == BOTH && !BOUND -> items = BOTH  // AcquireUpTo()
      fi
      if
      :: throws > 0 ->
        throws--;
        items = 0
      :: true ->
        assert((processing & items) == 0);
        dirty = dirty & ~items;
        processing = processing | items;
        owed = owed & ~items
      fi;
#if defined(BROKEN_THROW_WAKES_NOBODY)
      if
      :: items == 0
      :: else -> WakeGetters()
      fi
#elif !defined(BROKEN_GET_WAKES_NOBODY)
      WakeGetters()
#endif
    }
    Rest();
    if
    :: items & 1 -> Done(1)
    :: else
    fi
    if
    :: items & 2 -> Done(2)
    :: else
    fi
    items = 0;
    Rest()
  od
}

// Condition variables may wake a thread spuriously.
proctype SpuriousWakeUps() {
  byte n = SPURIOUS;
  do
  :: n == 0 -> break
  :: n > 0 ->
    n--;
    if
    :: atomic { asleep & 1 -> asleep = asleep & ~1 }
    :: atomic { asleep & 2 -> asleep = asleep & ~2 }
    :: atomic { asleep & 4 -> asleep = asleep & ~4 }
    :: atomic { drain_asleep -> drain_asleep = false }
    :: true
    fi
  od
}

// BeginShutDown(): wakes all threads that wait for an item. They leave the list
// themselves.
inline BeginShutDown() {
  shutting_down = true;
#ifndef BROKEN_SHUT_DOWN_WAKES_NOBODY
  asleep = 0
#endif
}

#ifdef BROKEN_SHUT_DOWN_IS_A_FLAG
#define shut_down_since (shut_downs != 0)
#else
#define shut_down_since (shut_downs != before)
#endif
#ifdef BROKEN_DRAIN_IGNORES_QUEUED
#define is_over (processing == 0 || shut_down_since)
#else
#define is_over (idle || shut_down_since)
#endif

// ShutDownWithDrain() or ShutDownWithDrainWithin().
proctype Drainer() {
  bool drained, in_time = true;
  if
  :: true -> goto end  // or no call at all
  :: true
  fi
  atomic {
    drain_began = true;
    BeginShutDown();
    before = shut_downs;
    if
    :: do
       :: !is_over -> drain_asleep = true; !drain_asleep
       :: else -> break
       od
    :: if  // AwaitWithDeadline()
       :: is_over
       :: in_time = false
       fi
    fi
#ifdef BROKEN_DRAIN_IGNORES_QUEUED
    drained = (processing == 0);
#else
    drained = idle;
#endif
    assert(!drained || owed == 0);
    assert(drained || !in_time || shut_downs != before);
    drain_ended = true
  }
end:
}

// ShutDown()
inline ShutDown() {
  atomic {
    BeginShutDown();
    shut_downs++;
#ifndef BROKEN_SHUT_DOWN_ENDS_NO_DRAIN
    drain_asleep = false
#endif
  }
}

proctype Stopper() {
  if
  :: true -> ShutDown()
  :: true
  fi
}

ltl drain_ends { [] (drain_began -> <> drain_ended) }

init {
  byte n;
  atomic {
    for (n : 1 .. ADDERS) { run Adder() }
    for (n : 1 .. WORKERS) { run Worker(n - 1, false) }
#if POLLERS
    for (n : 1 .. POLLERS) { run Worker(WORKERS + n - 1, true) }
#endif
#if SPURIOUS
    run SpuriousWakeUps();
#endif
#if STOPPERS
    run Drainer();
    run Stopper()
#endif
  }
  // No thread can make a step by itself. Some threads pause: a queued item
  // waits for them only if no other thread could take the item.
  timeout;
  assert(!ready || asleep == 0);
  assert(!drain_asleep || !(idle || shut_downs != before));
  resume = true;
  timeout;
  assert(owed == 0);
  assert(!drain_asleep);
  // The remaining workers wait for items, and must end now.
  if
  :: !shutting_down -> ShutDown()
  :: else
  fi
}
