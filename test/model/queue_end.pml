// The destructor of a queue (workqueue/internal/queue/queue_core.h). The thread
// that has got an item calls it, while other threads block in the queue, are
// about to return, or still wake threads for items that they have added.
//
// Checked with:
//   -DITEMS=1                       | holds
//   -DITEMS=2                       | holds
//   -DITEMS=2 -DGETTERS=3           | holds
//   -DBROKEN_WAKES_UNCOUNTED        | assertion .*gone
//   -DBROKEN_LEAVES_NO_TIME         | assertion .*gone
//   -DITEMS=1 -DBROKEN_WAKES_NOBODY | assertion .*gone
//   -DBROKEN_HANDS_OUT              | assertion .*closing

#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef GETTERS  // threads that call Get() once; at most 3
#define GETTERS 2
#endif

// Guarded by mu_. A critical section is an atomic block.
byte queued;
bool closing;  // also means shut down
byte waiting_getters;
byte woken_getters;
byte blocked;
// The getters that wait for queued_, a bit for each.
byte asleep;
// An atomic variable.
byte waking;

// State of the model that the code does not have.
bool gone;       // the queue's memory has been freed
bool destroyed;  // the destructor has been called or is about to be

// queued_.Signal()
inline Signal() {
  assert(!gone);
  if
  :: asleep & 1 -> asleep = asleep & ~1
  :: asleep & 2 -> asleep = asleep & ~2
  :: asleep & 4 -> asleep = asleep & ~4
  :: asleep == 0
  fi
}

// QueueCore::BeginWakes(), one at a time.
inline BeginWakes(wakes) {
  wakes = (queued > 0 && waiting_getters > 0 && woken_getters == 0 -> 1 : 0);
  woken_getters = woken_getters + wakes;
#ifndef BROKEN_WAKES_UNCOUNTED
  waking = waking + wakes
#endif
}

// QueueCore::Wake(), without the lock.
inline Wake(wakes) {
  if
  :: wakes > 0 ->
    atomic { Signal() };
#ifndef BROKEN_WAKES_UNCOUNTED
    atomic { assert(!gone); waking-- };
#endif
    wakes = 0
  :: else
  fi
}

proctype Adder() {
  byte wakes;
  atomic {
    queued = queued + ITEMS;
    BeginWakes(wakes)
  }
  Wake(wakes)
}

inline Destroy() {
  atomic {
    closing = true;
#ifndef BROKEN_WAKES_NOBODY
    asleep = 0;
#endif
#ifndef BROKEN_LEAVES_NO_TIME
    blocked == 0
#endif
  }
  waking == 0;
  gone = true
}

// Gets an item or, when the queue ends, none. The first getter with an item
// destroys the queue.
proctype Getter(byte self) {
  byte wakes;
  bool destroys;
  atomic {
    // The caller ensures that no call begins after the destructor.
    if
    :: destroyed -> goto end
    :: else
    fi;
    blocked++;
    do
    :: queued == 0 && !closing ->
      waiting_getters++;
      asleep = asleep | (1 << self);
      !(asleep & (1 << self)) -> assert(!gone);
      waiting_getters--;
      if
      :: woken_getters > 0 -> woken_getters--
      :: else
      fi
    :: else -> break
    od;
    blocked--;
    if
#ifdef BROKEN_HANDS_OUT
    :: queued > 0 ->
#else
    :: queued > 0 && !closing ->
#endif
      assert(!closing);
      queued--;
      destroys = !destroyed;
      destroyed = true
    :: else
    fi;
    BeginWakes(wakes)
  }
  Wake(wakes);
  if
  :: destroys -> Destroy()
  :: else
  fi;
end:
}

init {
  byte n;
  atomic {
    run Adder();
    for (n : 1 .. GETTERS) { run Getter(n - 1) }
  }
  timeout;
  assert(gone)
}
