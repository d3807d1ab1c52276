// Time, and threads that sleep until a time or a wake-up (clock/clock.h,
// clock/parker.h). Whoever includes this defines
//
//   PARKERS        how many there are,
//   LAST           the last time there is; the first is 1,
//   CheckAtRest()  what must hold whenever nothing goes on by itself,
//
// and has a process TimeGoesBy().

#define PAST 0
#define NEVER 255

byte now = 1;
// Whether the wake-up is there that a parker can hold.
bool unparked[PARKERS];
// Whether its thread sleeps, and until when.
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

// Time goes by at any moment, or not until all are at rest. At the end of it,
// `at_rest_for_good` ends what does not end by itself.
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
