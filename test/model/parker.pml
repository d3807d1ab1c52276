// Clock and Parker (workqueue/clock/clock.h, workqueue/clock/parker.h): time,
// and threads that sleep until a time or a wake-up. A model that includes this
// file defines
//
//   PARKERS        the number of parkers,
//   LAST           the last time; the first is 1,
//   CheckAtRest()  asserts what must hold whenever all threads are at rest,
//
// and has a process that calls TimeGoesBy().

#define PAST 0
#define NEVER 255

byte now = 1;
// Whether the parker holds a wake-up.
bool unparked[PARKERS];
// Whether the parker's thread sleeps, and until when.
bool parked[PARKERS];
byte parked_until[PARKERS];

// Parker::Unpark()
inline Unpark(p) {
#ifdef BROKEN_UNPARK_FORGETS
  unparked[p] = parked[p]
#else
  unparked[p] = true
#endif
}

// Parker::ParkUntil(), which forgets `until`.
inline ParkUntil(p, until) {
  atomic {
    parked_until[p] = until;
    until = PAST;
    parked[p] = true;
    unparked[p] || now >= parked_until[p];
    unparked[p] = false;
    parked[p] = false;
    parked_until[p] = PAST
  }
}

// Time may advance at any moment, and must advance once all threads are at
// rest. After LAST, `at_rest_for_good` ends the processes that do not end by
// themselves.
bool at_rest_for_good;
inline TimeGoesBy() {
  do
  :: now < LAST -> now++
  :: true ->
    timeout;
    CheckAtRest();
    if
    :: now < LAST -> now++
    :: else -> break
    fi
  od;
  at_rest_for_good = true
}
