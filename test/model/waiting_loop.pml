// WaitingLoop (workqueue/timer/waiting_loop.cc), without its heartbeat. A model
// that includes this file defines
//
//   PARKERS                1: the loop sleeps in parker 0,
//   Run(client, at, next)  Client::Run(), which returns `next`; the two clients
//                          are 0 and 1,
//
// and has a process that calls LoopUntilStopped().

#define NOBODY 2

// Guarded by mu_. A critical section is an atomic block.
byte next_run[2];
bool is_client[2];
byte first_client;  // the first one in the list; the other ran last
byte running = NOBODY;
bool stopping;
bool remover_waits;  // for run_ended_

bool loop_ended;

// Add()
inline AddClient(client) {
  is_client[client] = true;
  next_run[client] = PAST;
  Unpark(0)
}

// Wake(), in a critical section or outside of one.
inline Wake(client) {
#ifndef BROKEN_WAKE_ONLY_UNPARKS
  next_run[client] = PAST;
#endif
  Unpark(0)
}

// Remove()
inline Remove(client) {
  atomic {
    is_client[client] = false;
#ifndef BROKEN_REMOVE_DOES_NOT_WAIT
    do
    :: running == client -> remover_waits = true; !remover_waits
    :: else -> break
    od;
#endif
    assert(running != client)
  }
}

// BeginRun(). Stores its results in `client` and `next`.
inline BeginRun(at, client, next) {
  next = NEVER;
  client = first_client;
  do
  :: stopping -> client = NOBODY; break
  :: else ->
    if
    :: is_client[client] && next_run[client] <= at ->
      next_run[client] = NEVER;
      first_client = 1 - client;
      running = client;
      break
    :: is_client[client] && next_run[client] > at ->
      if
      :: next_run[client] < next -> next = next_run[client]
      :: else
      fi
    :: else
    fi;
    if
    :: client == first_client -> client = 1 - client
    :: else -> client = NOBODY; break
    fi
  od
}

// EndRun()
inline EndRun(client, next) {
  running = NOBODY;
  remover_waits = false;
  if
#ifdef BROKEN_END_RUN_FORGETS_WAKE
  :: is_client[client] -> next_run[client] = next
#else
  :: is_client[client] && next < next_run[client] -> next_run[client] = next
#endif
  :: else
  fi
}

// Loop()
inline LoopUntilStopped() {
  byte at, next, client;
  do
  ::
    at = now;
    atomic { BeginRun(at, client, next) }
    if
    :: client != NOBODY ->
      Run(client, at, next);
      atomic { EndRun(client, next); at = 0; next = 0 }
    :: else ->
      if
      :: stopping -> break
      :: else
      fi;
      at = 0;
      ParkUntil(0, next)
    fi
  od;
  loop_ended = true
}

// ~WaitingLoop()
inline StopLoop() {
  atomic {
    stopping = true;
#ifndef BROKEN_STOP_WAKES_NOBODY
    Unpark(0)
#endif
  }
  loop_ended
}

// A call that adds an item for `time` guarantees when it returns: the loop is
// awake or will be awake by `time`. FakeClock::Step() relies on it.
#define LOOP_COMES_BY(time) \
  (!parked[0] || unparked[0] || parked_until[0] <= time)
