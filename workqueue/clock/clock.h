// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_CLOCK_H_
#define WORKQUEUE_CLOCK_CLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/alarm.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/version.h"

// There is no namespace `clock` because <time.h> declares a function `clock()`.
namespace workqueue {

// Clock
//
// This interface tells the current time and lets threads wait for a later time.
// Every class in this library that reads the time or waits takes a `Clock` as
// an option. Production code uses `GetRealClock()`. A test passes a `FakeClock`
// and moves the time itself.
//
// The four pure virtual methods have the signatures and the meaning of the
// methods of `absl::Clock` (in Abseil since 20260526). An implementation must
// provide only these four. The adapters in
// `workqueue/clock/absl_clock_adapter.h` convert between the two interfaces.
//
// Implementations must be thread-safe. Only `NewParker()` and `NewAlarm()` may
// throw, because the library also calls the other methods on threads that have
// no caller to catch an exception.
//
// Example:
//
//     workqueue::Clock* clock = workqueue::Clock::GetRealClock();
//     const absl::Time start = clock->TimeNow();
//     clock->Sleep(absl::Milliseconds(10));
//     absl::Duration elapsed = clock->TimeNow() - start;  // at least 10 ms
class Clock {
 public:
  // Returns the machine's clock. The pointer is never null, and the clock is
  // never destroyed.
  //
  // This clock is monotonic. At its first use it reads the wall clock's time.
  // From then on it advances with the machine's monotonic clock. Setting the
  // wall clock does not change it, nor any wait on it. On Linux it does not
  // advance while the machine is suspended.
  //
  // On Linux with libstdc++ its waits require GCC 10 and glibc 2.30 or later:
  // earlier ones wait on the wall clock.
  //
  // A thread that parks as a loop (`Parker::Role::kLoop`) wakes as soon as the
  // machine can: the first `ParkUntil()` sets the thread's timer slack, by
  // which Linux may delay a timed wait, to a nanosecond. The thread keeps this
  // slack, and threads that it creates later inherit it. All threads of this
  // library that wait for a time are loops. Any other thread keeps its own
  // timer slack, which is 50 us by default, and so its waits may end that much
  // later.
  static Clock* GetRealClock();

  virtual ~Clock() = default;

  // Returns the current time, which must be finite: `absl::InfiniteFuture()` is
  // a time that never comes. Does not block.
  virtual absl::Time TimeNow() = 0;

  // Returns the current time or a time up to some milliseconds earlier. It may
  // be cheaper than `TimeNow()`. The default implementation returns
  // `TimeNow()`.
  virtual absl::Time CoarseTimeNow() { return TimeNow(); }

  // Blocks for `d`. Returns at once if `d` is zero or negative.
  virtual void Sleep(absl::Duration d) = 0;

  // Blocks until the clock reaches `wakeup_time`. Returns at once if that time
  // has passed.
  virtual void SleepUntil(absl::Time wakeup_time) = 0;

  // Blocks until `cond` is true or the clock reaches `deadline`, and returns
  // whether `cond` is true at that moment. The caller must hold `*mu`,
  // exclusively or shared. This method releases `*mu` while it waits. `*mu` is
  // held whenever `cond` is evaluated and when this method returns.
  virtual bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                                 absl::Time deadline) = 0;

  // Returns a new `Parker`, in which one thread at a time can sleep on this
  // clock. The caller owns it and must destroy it before the clock. The default
  // implementation uses `AwaitWithDeadline()`. May throw if there is no memory.
  virtual std::unique_ptr<Parker> NewParker(Parker::Role role);

  // Returns a new `Alarm`, for a loop that does not sleep on this clock. The
  // clock calls `ring` when it reaches the time of the alarm, and when it goes
  // back. `ring` must not block, and must not call the loop.
  //
  // Returns null, and never calls `ring`, if this clock advances by itself: a
  // program can wait for its time without it. The default implementation does.
  virtual std::unique_ptr<Alarm> NewAlarm(std::function<void()> ring);
};

// Returns `clock`, or the real clock if `clock` is null. Options that take a
// clock use this to apply their default.
inline Clock* OrRealClock(Clock* clock) {
  return clock != nullptr ? clock : Clock::GetRealClock();
}

namespace internal {

// Returns a constant. The `CoarseTimeNow()` of the real clock, in nanoseconds
// since 1970, is the sum of this constant and `sync::CoarseSteadyNanos()`. The
// sum takes half the time, because it makes no `absl::Time`.
int64_t RealClockEpochNanos();

}  // namespace internal

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_CLOCK_H_
