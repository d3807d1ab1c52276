// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef CLOCK_FAKE_CLOCK_H_
#define CLOCK_FAKE_CLOCK_H_

#include "clock/clock.h"

namespace clocks {

class FakeClock final : public Clock {
 public:
  int SecondsSinceMidnight() const override { return seconds_; }
  void Set(int seconds_since_midnight) { seconds_ = seconds_since_midnight; }

 private:
  int seconds_ = 0;
};

}  // namespace clocks

#endif  // CLOCK_FAKE_CLOCK_H_
