// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Adapters between `absl::Clock` and `workqueue::Clock`, in both directions.
//
// `absl::Clock` exists in Abseil releases from 20260526 on, in the header
// "absl/time/clock_interface.h" and the Bazel target
// @com_google_absl//absl/time:clock_interface. Your own target must depend on
// that target. If the header cannot be included, this header declares nothing
// and does not define `WORKQUEUE_HAVE_ABSL_CLOCK`.

#ifndef WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_
#define WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_

#if __has_include("absl/time/clock_interface.h")
#define WORKQUEUE_HAVE_ABSL_CLOCK 1

#include "absl/synchronization/mutex.h"
#include "absl/time/clock_interface.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// FromAbslClock
//
// This class makes an `absl::Clock` usable wherever this library takes a
// `Clock`. All four methods forward to the `absl::Clock`.
//
// It works with an `absl::SimulatedClock`, but advancing that clock does not
// wait until the library has acted on the new time. Only `FakeClock` does that.
//
// Thread-safe. The adapter does not own `clock`, which must not be null and
// must outlive the adapter.
//
// Example:
//
//     workqueue::FromAbslClock clock(&my_service.clock());
//     workqueue::DelayingQueueOptions<std::string> options;
//     options.clock = &clock;
class FromAbslClock final : public Clock {
 public:
  explicit FromAbslClock(absl::Clock* clock) : clock_(clock) {}

  absl::Time TimeNow() override { return clock_->TimeNow(); }
  void Sleep(absl::Duration d) override { clock_->Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    clock_->SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return clock_->AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  absl::Clock* const clock_;
};

// ToAbslClock
//
// This class makes a `Clock` of this library, for example a `FakeClock`, usable
// wherever code takes an `absl::Clock`. All four methods forward to the
// `Clock`.
//
// Thread-safe. The adapter does not own `clock`, which must not be null and
// must outlive the adapter.
//
// Example:
//
//     workqueue::FakeClock fake;
//     workqueue::ToAbslClock clock(&fake);
//     MyService service(&clock);
class ToAbslClock final : public absl::Clock {
 public:
  explicit ToAbslClock(Clock* clock) : clock_(clock) {}

  absl::Time TimeNow() override { return clock_->TimeNow(); }
  void Sleep(absl::Duration d) override { clock_->Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    clock_->SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return clock_->AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  Clock* const clock_;
};

}  // namespace workqueue

#endif  // __has_include("absl/time/clock_interface.h")

#endif  // WORKQUEUE_CLOCK_ABSL_CLOCK_ADAPTER_H_
