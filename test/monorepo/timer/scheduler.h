// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef TIMER_SCHEDULER_H_
#define TIMER_SCHEDULER_H_

#include "clock/fake_clock.h"

namespace timer {

// Sets the clock to midnight.
class Scheduler {
 public:
  explicit Scheduler(clocks::FakeClock* clock) : clock_(clock) {}
  void BeginNight() { clock_->Set(0); }

 private:
  clocks::FakeClock* const clock_;
};

}  // namespace timer

#endif  // TIMER_SCHEDULER_H_
