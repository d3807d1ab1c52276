// The destructor of a queue (workqueue/internal/queue_core.h). The thread
// that has got an item calls it, while other threads block in the queue, or are
// about to return.
//
// Checked with:
//   -DITEMS=1                       | holds
//   -DITEMS=2                       | holds
//   -DITEMS=2 -DGETTERS=3           | holds
//   -DBROKEN_WAKES_UNLOCKED         | assertion .*gone
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
byte woken_getters;
byte blocked;
// The getters in the list of those that wait and have not been woken, a bit for
// each, and the getters that sleep.
byte getters;
byte asleep;

// State of the model that the code does not have.
bool gone;       // the queue's memory has been freed
bool destroyed;  // the destructor has been called or is about to be

// QueueState::WakeGetters(), one at a time.
inline WakeGetters() {
  assert(!gone);
  if
  :: queued > 0 && woken_getters == 0 && getters != 0 ->
    if
    :: getters & 1 -> getters = getters & ~1; asleep = asleep & ~1
    :: getters & 2 -> getters = getters & ~2; asleep = asleep & ~2
    :: getters & 4 -> getters = getters & ~4; asleep = asleep & ~4
    fi
    woken_getters++
  :: else
  fi
}

proctype Adder() {
  atomic {
    queued = queued + ITEMS;
#ifndef BROKEN_WAKES_UNLOCKED
    WakeGetters()
  }
#else
  }
  atomic { WakeGetters() }
#endif
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
  gone = true
}

// Gets an item or, when the queue ends, none. The first getter with an item
// destroys the queue.
proctype Getter(byte self) {
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
      getters = getters | (1 << self);
      asleep = asleep | (1 << self);
      !(asleep & (1 << self)) -> assert(!gone);
      if
      :: getters & (1 << self) -> getters = getters & ~(1 << self)
      :: else -> woken_getters--
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
    WakeGetters()
  }
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
