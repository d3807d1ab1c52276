// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_OBSERVED_CLOCK_H_
#define WORKQUEUE_TEST_WORKQUEUE_OBSERVED_CLOCK_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace workqueue {

// ObservedClock
//
// Wraps another clock, and observes which threads sleep and are woken.
class ObservedClock final : public Clock {
 public:
  explicit ObservedClock(Clock* clock) : clock_(clock) {}

  // Returns how often a thread has gone to sleep in a parker of this clock. A
  // thread sleeps again after each wake-up, so this counts wake-ups, too.
  int parks() const { return parks_; }

  // Returns how many parkers have been made.
  int parkers() const { return parkers_; }

  // Called before each `Unpark()`. If the result is false, the `Unpark()` is
  // lost. Set this field while no other thread uses the clock.
  std::function<bool()> on_unpark = [] { return true; };

  // Called before each `TimeNow()`. Set this field while no other thread uses
  // the clock.
  std::function<void()> on_time_now = [] {};

  // Called in each `TimeNow()` when it has read the time. Set this field while
  // no other thread uses the clock.
  std::function<void()> on_time_read = [] {};

  // Called at the beginning of `AwaitWithDeadline()`, with its mutex. Set this
  // field while no other thread uses the clock.
  std::function<void(absl::Mutex*)> on_await = [](absl::Mutex*) {};

  absl::Time TimeNow() override {
    on_time_now();
    const absl::Time now = clock_->TimeNow();
    on_time_read();
    return now;
  }
  void Sleep(absl::Duration d) override { clock_->Sleep(d); }
  void SleepUntil(absl::Time wakeup_time) override {
    clock_->SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    on_await(mu);
    return clock_->AwaitWithDeadline(mu, cond, deadline);
  }
  std::unique_ptr<Parker> NewParker(Parker::Role role) override {
    ++parkers_;
    return std::make_unique<ObservedParker>(this, clock_->NewParker(role));
  }

 private:
  class ObservedParker final : public Parker {
   public:
    ObservedParker(ObservedClock* clock, std::unique_ptr<Parker> parker)
        : clock_(clock), parker_(std::move(parker)) {}

    bool ParkUntil(absl::Time deadline) override {
      ++clock_->parks_;
      return parker_->ParkUntil(deadline);
    }
    void Unpark() override {
      if (clock_->on_unpark()) parker_->Unpark();
    }

   private:
    ObservedClock* const clock_;
    const std::unique_ptr<Parker> parker_;
  };

  Clock* const clock_;
  std::atomic<int> parks_{0};
  std::atomic<int> parkers_{0};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_OBSERVED_CLOCK_H_
