// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/clock.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_CLOCK_H_
#define WORKQUEUE_CLOCK_CLOCK_H_

#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/parker.h"

// The namespace cannot be called after its folder: <time.h> declares a function
// `clock()`.
namespace workqueue {

// Clock
//
// What time it is, and how to wait for a later one. Everything in this library
// that measures or waits takes its `Clock` as an option, so that a test can
// pass a `FakeClock` and move time itself.
//
// The four pure methods are those of `absl::Clock` (Abseil since 20260526),
// with the same meaning; `clock/absl_clock_adapter.h` turns either into the
// other. An implementation need provide only those four.
//
// Implementations must be thread-safe, and must not throw, but from
// `NewParker()`: there are threads that have nobody to throw to.
class Clock {
 public:
  // Returns the machine's clock. Never null, and never destroyed.
  //
  // It is monotonic: it starts at the wall clock's time as of its first use,
  // and from then on advances with the machine's monotonic clock. Setting the
  // wall clock neither moves it nor shortens or prolongs any wait on it. (On
  // Linux it stands still while the machine is suspended.)
  //
  // A thread that parks as a loop (`Parker::Role::kLoop`) wakes as soon as the
  // machine can: the first `ParkUntil()` sets the thread's timer slack, by which
  // Linux may delay a timed wait, to a nanosecond. The thread keeps this slack,
  // and threads that it creates later inherit it. All threads of this library
  // that wait for a time are loops. Any other thread keeps its own timer slack,
  // which is 50 us by default, and so its waits may end that much later.
  static Clock* GetRealClock();

  virtual ~Clock() = default;

  // Returns the current time.
  virtual absl::Time TimeNow() = 0;

  // Returns the current time or one some milliseconds earlier, and may be
  // cheaper for that. The default one is `TimeNow()`.
  virtual absl::Time CoarseTimeNow() { return TimeNow(); }

  // Sleeps for `d`; not at all if `d` is zero or negative.
  virtual void Sleep(absl::Duration d) = 0;

  // Sleeps until `wakeup_time`; not at all if that is past.
  virtual void SleepUntil(absl::Time wakeup_time) = 0;

  // Returns when `cond` is true or `deadline` has passed; true iff `cond` holds
  // then. `*mu` must be held, at least in shared mode. It is held while `cond`
  // is evaluated and on return, and may be released in between.
  virtual bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                                 absl::Time deadline) = 0;

  // Returns a new place to sleep for one thread. The default one is built on
  // `AwaitWithDeadline()`. The `Parker` must be destroyed before the clock.
  virtual std::unique_ptr<Parker> NewParker(Parker::Role role);
};

// Returns `clock` or, if that is null, the real clock: the default of an
// option.
inline Clock* OrRealClock(Clock* clock) {
  return clock != nullptr ? clock : Clock::GetRealClock();
}

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_CLOCK_H_
