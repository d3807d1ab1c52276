// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_ADVANCED_CLOCK_H_
#define WORKQUEUE_TEST_WORKQUEUE_ADVANCED_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// AdvancedClock
//
// The real clock, and what it was advanced by. A function that a thread of the
// library calls may advance it: a `FakeClock` would wait for that thread.
class AdvancedClock final : public Clock {
 public:
  void Advance(absl::Duration d) { ahead_ += absl::ToInt64Nanoseconds(d); }

  absl::Time TimeNow() override { return real().TimeNow() + ahead(); }
  void Sleep(absl::Duration d) override { real().Sleep(d); }
  void SleepUntil(absl::Time t) override { real().SleepUntil(t - ahead()); }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return real().AwaitWithDeadline(mu, cond, deadline - ahead());
  }

 private:
  static Clock& real() { return *Clock::GetRealClock(); }
  absl::Duration ahead() const { return absl::Nanoseconds(ahead_.load()); }

  std::atomic<int64_t> ahead_{0};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_ADVANCED_CLOCK_H_
