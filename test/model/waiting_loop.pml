// WaitingLoop (workqueue/timer/waiting_loop.cc), without its heartbeat, and with
// a clock that does not go back. With DRIVEN, the program drives the loop: parker
// 0 is the program's poll, and a wake-up is an event that the poll reads. A model
// that includes this file and wake_time.pml defines
//
//   PARKERS                1: the loop sleeps in parker 0,
//   Run(client, at, next)  Client::Run(), which returns `next`; the two clients
//                          are 0 and 1,
//
// and has a process that calls LoopUntilStopped().

#define NOBODY 2

// Guarded by mu_. A critical section is an atomic block.
byte seen;           // now_
bool is_client[2];   // whether it has a turn
byte next_run[2];    // the time of its turn
byte first_number;   // the client whose turn has the lower number
bool before_end[2];  // whether the number of its turn is below end_
byte sleeps_until;   // wake_time_
byte running = NOBODY;
bool running_removed;
bool stopping;
bool remover_waits;  // for run_ended_

bool loop_ended;

// Gives `client` a turn. Its number is higher than all others.
inline NewTurn(client, time) {
  assert(is_client[client]);
  next_run[client] = (time > seen -> time : seen);
  first_number = 1 - client;
  before_end[client] = false
}

#define IS_BEFORE(client, other)                                     \
  (!is_client[other] || next_run[client] < next_run[other] ||        \
   (next_run[client] == next_run[other] && first_number == client))

// The time of the first turn.
#define FIRST_RUN                                       \
  (is_client[0] && IS_BEFORE(0, 1) -> next_run[0]       \
                                   : (is_client[1] -> next_run[1] : NEVER))

// WakeIfAsleep()
inline WakeIfAsleep() { IF_WAKE_BY(sleeps_until, FIRST_RUN, Unpark(0)) }

// SetTurn()
inline SetTurn(client, time) {
  if
#ifdef BROKEN_WAKE_TAKES_REMOVED
  :: !is_client[client] || next_run[client] > seen -> NewTurn(client, time)
#else
  :: is_client[client] && next_run[client] > seen -> NewTurn(client, time)
#endif
  :: else
  fi
}

// Add()
inline AddClient(client) {
  is_client[client] = true;
  NewTurn(client, PAST);
  WakeIfAsleep()
}

// Wake(), in a critical section or outside of one.
inline Wake(client) {
#ifdef BROKEN_WAKE_ONLY_UNPARKS
  Unpark(0)
#else
  SetTurn(client, PAST);
  WakeIfAsleep()
#endif
}

// Remove()
inline Remove(client) {
  atomic {
    is_client[client] = false;
    next_run[client] = PAST;
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
    assert(running != client)
  }
}

// Sleep() and NextRun()
inline Sleep(next) {
  next = FIRST_RUN;
  SetWakeTime(sleeps_until, next)
}

// The begin of RunClients().
inline BeginRuns() {
  ClearWakeTime(sleeps_until);
  before_end[0] = true;
  before_end[1] = true
}

// The next run in RunClients(). Stores its results in `client` and `next`.
inline BeginRun(at, client, next) {
  seen = at;
  client = NOBODY;
  if
  :: is_client[0] && IS_BEFORE(0, 1) -> client = 0
  :: is_client[1] && IS_BEFORE(1, 0) -> client = 1
  :: else
  fi;
  if
  :: stopping || client == NOBODY || FIRST_RUN > at || !before_end[client] ->
    client = NOBODY;
#ifdef BROKEN_SLEEPS_UNTOLD
    next = FIRST_RUN
#else
    Sleep(next)
#endif
  :: else -> running = client; next_run[client] = NEVER
  fi
}

// The end of a run in RunClients().
inline EndRun(client, next) {
  running = NOBODY;
  remover_waits = false;
  if
#ifdef BROKEN_END_RUN_KEEPS_REMOVED
  :: true -> NewTurn(client, next)
#else
  :: running_removed
  :: else ->
#ifdef BROKEN_END_RUN_FORGETS_WAKE
    NewTurn(client, next)
#else
    SetTurn(client, next)
#endif
#endif
  fi;
  running_removed = false
}

// Loop(), or the program that drives the loop.
inline LoopUntilStopped() {
  byte at, next, client;
  atomic { BeginRuns() }
  at = now;
  do
  ::
    atomic { BeginRun(at, client, next) }
    if
    :: client != NOBODY ->
      Run(client, at, next);
      // With the next BeginRun(), this is one critical section in the code.
      atomic { EndRun(client, next); next = 0 }
    :: else ->
      at = 0;
#ifdef BROKEN_SLEEPS_UNTOLD
      SetWakeTime(sleeps_until, next);
#endif
      if
      :: stopping -> break
      :: else
      fi;
#ifdef BROKEN_EVENT_READ_AFTER_RUN
      unparked[0] = false;
#endif
#ifdef DRIVEN
      if
      :: true
      :: atomic { Sleep(next) }
      fi;
#endif
      ParkUntil(0, next);
      atomic { BeginRuns() }
      at = now
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
