// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef CONTROLLER_CONTROLLER_H_
#define CONTROLLER_CONTROLLER_H_

#include <string>

#include "clock/clock.h"
#include "metrics/metrics.h"

namespace controller {

// Switches lamps on at night.
class Controller {
 public:
  Controller(const clocks::Clock* clock, metrics::CounterMetric* switched_on)
      : clock_(clock), switched_on_(switched_on) {}

  // Returns false by day.
  bool SwitchOn(const std::string& lamp) {
    if (clock_->SecondsSinceMidnight() >= 6 * 60 * 60) return false;
    switched_on_->Increment(lamp);
    return true;
  }

 private:
  const clocks::Clock* const clock_;
  metrics::CounterMetric* const switched_on_;
};

}  // namespace controller

#endif  // CONTROLLER_CONTROLLER_H_
