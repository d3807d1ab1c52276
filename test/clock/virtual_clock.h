// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CLOCK_VIRTUAL_CLOCK_H_
#define WORKQUEUE_TEST_CLOCK_VIRTUAL_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// VirtualClock
//
// This class is a clock whose time moves only when a thread sleeps, to the end
// of the sleep. Hours pass at once, and reading the clock costs almost nothing.
// So a benchmark measures the code that uses the clock, and a
// test need not wake a thread that sleeps.
//
// Unlike other clocks, this clock is for one thread only.
class VirtualClock final : public Clock {
 public:
  // The number of sleeps so far.
  int64_t sleeps() const { return sleeps_; }

  absl::Time TimeNow() override { return now_; }
  void Sleep(absl::Duration d) override { SleepUntil(now_ + d); }
  void SleepUntil(absl::Time wakeup_time) override {
    ++sleeps_;
    now_ = std::max(now_, wakeup_time);
  }
  bool AwaitWithDeadline(absl::Mutex*, const absl::Condition& cond,
                         absl::Time deadline) override {
    if (!cond.Eval()) SleepUntil(deadline);
    return cond.Eval();
  }

 private:
  absl::Time now_ = absl::UnixEpoch();
  int64_t sleeps_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CLOCK_VIRTUAL_CLOCK_H_
