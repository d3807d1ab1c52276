// PriorityQueue (workqueue/priority_queue.h), except for the part that
// queue.pml models: threads that add an item for later, move it or cancel it,
// the loop that queues it when its time has come, the shutdown and the
// destructor.
//
// Checked with:
//   -DADDERS=2 -DLAST=3 -DSTOPPERS=1             | holds, and loop_ends
//   -DADDERS=3                                   | holds
//   -DADDERS=2 -DMOVERS=1                        | holds
//   -DADDERS=1 -DMOVERS=1 -DSTOPPERS=1           | holds
//   -DBROKEN_SLEEP_AFTER_UNLOCK                  | assertion
//   -DBROKEN_ADD_WAKES_NOBODY                    | assertion
//   -DBROKEN_END_RUN_FORGETS_WAKE                | assertion
//   -DBROKEN_SHUT_DOWN_WAKES_BEFORE -DSTOPPERS=1 | assertion .*waiting

#ifndef ADDERS  // each adds an item
#define ADDERS 2
#endif
#ifndef MOVERS  // threads that call Reschedule() or CancelDelayed(); at most 1
#define MOVERS 0
#endif
#ifndef STOPPERS  // threads that call ShutDown(); at most 1
#define STOPPERS 0
#endif
#ifndef LAST
#define LAST 2
#endif
#define PARKERS 1
#include "parker.pml"
#include "wake_time.pml"
#include "waiting_loop.pml"

#define QUEUE 0

// Guarded by mu_. A critical section is an atomic block. One that reads the
// clock is two blocks, and `locked` is true in between.
bool locked;
byte waiting[ADDERS];  // for each item, when it is due
byte loop_wake_time;
bool shutting_down;

byte callers = ADDERS + MOVERS + STOPPERS;  // threads that may still call

// No due item waits, and no item at all after the shutdown.
byte t;
inline CheckAtRest() {
  d_step {
    for (t : 0 .. ADDERS - 1) {
      assert(!is_client[QUEUE] || waiting[t] == 0 ||
             (!shutting_down && waiting[t] > now))
    }
    t = 0
  }
}
active proctype Time() { TimeGoesBy() }

// MakeWaiting()
inline MakeWaiting(item, ready_at) {
  waiting[item] = ready_at;
#ifndef BROKEN_ADD_WAKES_NOBODY
  IF_WAKE_BY(loop_wake_time, ready_at, Wake(QUEUE))
#endif
}

// AddWithOptions(). Each thread adds its own item.
proctype Adder(byte self) {
  byte at;
  if
  :: shutting_down -> goto end  // without the lock
  :: else
  fi;
  atomic {
    !locked ->
    if
    :: shutting_down -> goto end
    :: else -> locked = true; at = now
    fi
  }
  atomic {
    if
    :: waiting[self] == 0 || at + 1 < waiting[self] -> at = at + 1
    :: waiting[self] == 0 || at + 2 < waiting[self] -> at = at + 2
    :: waiting[self] != 0 -> at = waiting[self]
    fi;
    if
    :: IS_AFTER(loop_wake_time, at) && at <= now -> waiting[self] = 0  // MakeDirty()
    :: else -> MakeWaiting(self, at)
    fi;
    locked = false
  }
  // The loop will take care of the item.
  assert(shutting_down || waiting[self] == 0 || LOOP_COMES_BY(waiting[self]));
end:
  atomic { at = 0; callers-- }
}

// Reschedule() or CancelDelayed() of the first item. Reschedule() adds an item
// that does not wait.
proctype Mover() {
  byte at;
  atomic {
    !locked ->
    if
    :: shutting_down -> goto end
    :: else -> locked = true; at = now
    fi
  }
  atomic {
    if
    :: waiting[0] = 0  // CancelDelayed(), or without a delay
    :: MakeWaiting(0, at + 1)
    :: MakeWaiting(0, at + 2)
    fi;
    locked = false
  }
end:
  atomic { at = 0; callers-- }
}

// ShutDown(), or the first half of ShutDownWithDrainWithin().
proctype Stopper() {
  if
  :: true -> goto end  // or no call at all
  :: true
  fi;
#ifdef BROKEN_SHUT_DOWN_WAKES_BEFORE
  atomic { Wake(QUEUE) }
  atomic { !locked -> shutting_down = true }
#else
  atomic { !locked -> shutting_down = true; Wake(QUEUE) }
#endif
end:
  callers--
}

// Run(), with RunBatch().
inline Run(client, at, next) {
  atomic {
    !locked ->
    next = NEVER;
    for (i : 0 .. ADDERS - 1) {
      if
      :: waiting[i] != 0 && (shutting_down || waiting[i] <= at) ->
        waiting[i] = 0;
        if
        :: true
        :: true -> next = PAST; break  // the rest next time
        fi
      :: !shutting_down && waiting[i] > at && waiting[i] < next ->
        next = waiting[i]
      :: else
      fi
    }
    i = 0;
#ifdef BROKEN_SLEEP_AFTER_UNLOCK
  }
  SetWakeTime(loop_wake_time, next)
#else
    SetWakeTime(loop_wake_time, next)
  }
#endif
}

proctype Loop() {
  byte i;
  LoopUntilStopped()
}

ltl loop_ends { <> loop_ended }

// The lifetime of the queue. It ends when all calls have returned and nothing
// is left to do.
init {
  byte n;
  run Loop();
  atomic { AddClient(QUEUE) }
  atomic {
    for (n : 0 .. ADDERS - 1) { run Adder(n) }
#if MOVERS
    run Mover();
#endif
#if STOPPERS
    run Stopper()
#endif
  }
  at_rest_for_good;
  callers == 0;
  Remove(QUEUE);
  StopLoop()
}
