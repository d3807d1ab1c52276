// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_PARKER_H_
#define WORKQUEUE_CLOCK_PARKER_H_

#include "absl/time/time.h"

namespace workqueue {

// Parker
//
// In a `Parker` one thread sleeps until a given time or until another thread
// wakes it. `Clock::NewParker()` creates a `Parker`, whose deadlines are times
// of that clock.
//
// A `Parker` stores at most one wake-up. If `Unpark()` comes before
// `ParkUntil()`, that `ParkUntil()` returns at once. So no wake-up is lost
// between the check for work and the sleep. Several calls of `Unpark()` before
// a `ParkUntil()` count as one.
//
// Thread safety: one thread at a time may be in `ParkUntil()`. Any thread may
// call `Unpark()`. The caller must ensure that neither method is running when
// the `Parker` is destroyed, and must destroy the `Parker` before its clock.
//
// Example, a loop that does all work that is due and then sleeps until more is
// due:
//
//     auto parker = clock->NewParker(Parker::Role::kLoop);
//     while (!stopped) {
//       absl::Time next = DoWhatIsDue(clock->TimeNow());
//       parker->ParkUntil(next);      // or until a thread calls Unpark()
//     }
class Parker {
 public:
  // The kind of thread that parks. A clock that simulates time waits for loops
  // after it has moved (see `FakeClock::Step()`). On the real clock a loop's
  // thread wakes more precisely (see `Clock::GetRealClock()`).
  enum class Role {
    // A thread that exists to act at certain times. It counts as working from
    // the creation of its `Parker` to the destruction, except while it waits on
    // the clock, in this `Parker` or in any other way. The clock takes the
    // thread that called `ParkUntil()` last for the loop's thread. So before
    // the thread's first `ParkUntil()` it counts as working even while it waits
    // on the clock elsewhere. A first call with `absl::InfinitePast()`, which
    // does not block, is enough.
    kLoop,
    // A thread that mainly does other things and parks only now and then.
    kCaller,
  };

  virtual ~Parker() = default;

  // Blocks until `Unpark()` is called or the clock reaches `deadline`. Returns
  // true if an `Unpark()` ended the wait, and uses that wake-up up. Returns
  // false if `deadline` was reached. Does not block if `deadline` has passed.
  // `absl::InfiniteFuture()` is never reached.
  //
  // Memory ordering: everything that a thread wrote before `Unpark()` is
  // visible after the `ParkUntil()` that it ended.
  virtual bool ParkUntil(absl::Time deadline) = 0;

  // Ends the current `ParkUntil()`, or the next one if none is running. Does
  // not block.
  virtual void Unpark() = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_PARKER_H_
