// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/absl_clock_adapter.h
// -----------------------------------------------------------------------------
//
// Turns an `absl::Clock` into a `workqueue::Clock` and the other way round. It
// declares nothing where it finds no "absl/time/clock_interface.h";
// `WORKQUEUE_HAVE_ABSL_CLOCK` tells. Abseil has that since 20260526, in Bazel
// as @com_google_absl//absl/time:clock_interface, which your target must name
// among its dependencies.

#ifndef WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_
#define WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_

#if __has_include("absl/time/clock_interface.h")
#define WORKQUEUE_HAVE_ABSL_CLOCK 1

#include "absl/synchronization/mutex.h"
#include "absl/time/clock_interface.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// FromAbslClock
//
// An `absl::Clock`, to be passed where this library takes a clock.
//
// Example:
//
//     workqueue::FromAbslClock clock(&my_service.clock());
//     workqueue::DelayingQueueOptions<std::string> options;
//     options.clock = &clock;
//
// With an `absl::SimulatedClock` underneath, time moves but nobody knows when
// all that was due has been done; only `FakeClock` promises that.
//
// Thread-safe. `clock` must outlive the adapter.
class FromAbslClock final : public Clock {
 public:
  explicit FromAbslClock(absl::Clock* clock) : clock_(clock) {}

  absl::Time TimeNow() override { return clock_->TimeNow(); }
  void Sleep(absl::Duration d) override { clock_->Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    clock_->SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return clock_->AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  absl::Clock* const clock_;
};

// ToAbslClock
//
// A clock of this library, a `FakeClock` say, to be passed to code that takes
// an `absl::Clock`.
//
// Thread-safe. `clock` must outlive the adapter.
class ToAbslClock final : public absl::Clock {
 public:
  explicit ToAbslClock(Clock* clock) : clock_(clock) {}

  absl::Time TimeNow() override { return clock_->TimeNow(); }
  void Sleep(absl::Duration d) override { clock_->Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    clock_->SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return clock_->AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  Clock* const clock_;
};

}  // namespace workqueue

#endif  // __has_include("absl/time/clock_interface.h")

#endif  // WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_
