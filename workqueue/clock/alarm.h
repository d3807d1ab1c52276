// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_ALARM_H_
#define WORKQUEUE_CLOCK_ALARM_H_

#include <thread>  // NOLINT(build/c++11)

#include "absl/time/time.h"

namespace workqueue {

// Alarm
//
// Connects a clock that simulates time with a loop that does not sleep on the
// clock: a program runs the loop, and sleeps in a poll of its own (see
// `WaitingLoop`). `Clock::NewAlarm()` creates an `Alarm`.
//
// The clock rings when it reaches the time of the loop's next run, so that the
// program wakes. It can also wait until the loop has run.
class Alarm {
 public:
  virtual ~Alarm() = default;

  // The loop has its next run at `time`; if that is not later than now, it has
  // something to do. The thread `runner` runs the loop. Does not block. May be
  // called by any thread, one at a time.
  virtual void Set(absl::Time time, std::thread::id runner) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_ALARM_H_
