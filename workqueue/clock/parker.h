// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/parker.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_PARKER_H_
#define WORKQUEUE_CLOCK_PARKER_H_

#include "absl/time/time.h"

namespace workqueue {

// Parker
//
// One thread's place to sleep until a time comes or another thread wakes it. A
// `Parker` comes from `Clock::NewParker()` and follows that clock.
//
// It holds at most one wake-up: an `Unpark()` that comes first makes the next
// `ParkUntil()` return at once, so none is lost between looking for work and
// going to sleep; several before it count as one.
//
// Example, a loop that does what is due and sleeps until more is:
//
//     auto parker = clock->NewParker(Parker::Role::kLoop);
//     while (!stopped) {
//       absl::Time next = DoWhatIsDue(clock->TimeNow());
//       parker->ParkUntil(next);      // or until somebody calls Unpark()
//     }
//
// Thread safety: one thread at a time may be in `ParkUntil()`; `Unpark()` may
// be called from any thread. Destroy a `Parker` only when neither is running,
// and before its clock.
class Parker {
 public:
  // The kind of thread that parks. A clock that simulates time waits for loops
  // after it has moved (see `FakeClock::Step()`). On the real clock a loop's
  // thread wakes more precisely (see `Clock::GetRealClock()`).
  enum class Role {
    // A thread that lives to act when time comes, and is at work from the
    // creation of its `Parker` to its destruction, except while it waits on the
    // clock, in this `Parker` or in any other way. It is the thread that called
    // `ParkUntil()` last. Before the first such call no wait elsewhere counts;
    // one with `absl::InfinitePast()`, which does not block, is enough.
    kLoop,
    // A thread that has other things to do, and parks now and then.
    kCaller,
  };

  virtual ~Parker() = default;

  // Blocks until `Unpark()` is called or the clock reaches `deadline`. Returns
  // true if an `Unpark()` ended it, which is then used up; false if `deadline`
  // did. A `deadline` in the past does not block; one of
  // `absl::InfiniteFuture()` never ends it.
  //
  // Memory ordering: what a thread did before `Unpark()` is visible after the
  // `ParkUntil()` that the call ended.
  virtual bool ParkUntil(absl::Time deadline) = 0;

  // Ends the current `ParkUntil()`, or the next one. Does not block.
  virtual void Unpark() = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_PARKER_H_
