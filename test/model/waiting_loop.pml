// WaitingLoop (workqueue/timer/waiting_loop.cc), without its heartbeat. A model
// that includes this file defines
//
//   PARKERS                1: the loop sleeps in parker 0,
//   Run(client, at, next)  Client::Run(), which returns `next`; the two clients
//                          are 0 and 1,
//
// and has a process that calls LoopUntilStopped().

#define NOBODY 2

#define NOWHERE 0
#define READY 1
#define WAITING 2

// Guarded by mu_. A critical section is an atomic block.
byte place[2];     // in ready_, in waiting_, or NOWHERE
byte next_run[2];  // of a client in waiting_
byte first_ready = NOBODY;
byte running = NOBODY;
bool running_removed;
bool stopping;
bool remover_waits;  // for run_ended_

bool loop_ended;

// State of the model that the code does not have.
bool is_client[2];

// MakeReady()
inline MakeReady(client) {
  place[client] = READY;
  next_run[client] = PAST;
  first_ready = (place[1 - client] == READY -> 1 - client : client)
}

// TakeOut()
inline TakeOut(client) {
  place[client] = NOWHERE;
  next_run[client] = PAST;
  first_ready = (place[1 - client] == READY -> 1 - client : NOBODY)
}

// Add()
inline AddClient(client) {
  is_client[client] = true;
  MakeReady(client);
  Unpark(0)
}

// Wake(), in a critical section or outside of one.
inline Wake(client) {
#ifndef BROKEN_WAKE_ONLY_UNPARKS
  if
  :: place[client] != READY -> MakeReady(client)
  :: else
  fi;
#endif
  Unpark(0)
}

// Remove()
inline Remove(client) {
  atomic {
    is_client[client] = false;
    TakeOut(client);
    if
    :: running == client -> running_removed = true
    :: else
    fi;
#ifndef BROKEN_REMOVE_DOES_NOT_WAIT
    do
    :: running == client -> remover_waits = true; !remover_waits
    :: else -> break
    od;
#endif
    assert(running != client && place[client] == NOWHERE)
  }
}

#define IS_DUE(client, at) \
  (place[client] == WAITING && next_run[client] <= at)

// BeginRun(). Stores its results in `client` and `next`.
inline BeginRun(at, client, next) {
  client = NOBODY;
  next = NEVER;
  if
  :: stopping
  :: else ->
    // The clients that are due, in the order of their times.
    if
    :: IS_DUE(1, at) && (!IS_DUE(0, at) || next_run[1] < next_run[0]) ->
      MakeReady(1)
    :: else
    fi;
    if
    :: IS_DUE(0, at) -> MakeReady(0)
    :: else
    fi;
    if
    :: IS_DUE(1, at) -> MakeReady(1)
    :: else
    fi;
    client = first_ready;
    if
    :: client != NOBODY -> TakeOut(client); running = client
    :: else ->
      if
      :: place[0] == WAITING -> next = next_run[0]
      :: else
      fi;
      if
      :: place[1] == WAITING && next_run[1] < next -> next = next_run[1]
      :: else
      fi
    fi
  fi
}

// EndRun()
inline EndRun(client, next) {
  running = NOBODY;
  remover_waits = false;
  if
#ifdef BROKEN_END_RUN_FORGETS_WAKE
  :: !running_removed ->
    TakeOut(client);
    place[client] = WAITING;
    next_run[client] = next
#elif defined(BROKEN_END_RUN_KEEPS_REMOVED)
  :: place[client] == NOWHERE ->
    place[client] = WAITING;
    next_run[client] = next
#else
  :: !running_removed && place[client] == NOWHERE ->
    place[client] = WAITING;
    next_run[client] = next
#endif
  :: else
  fi;
  running_removed = false
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
