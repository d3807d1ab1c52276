// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef CLOCK_CLOCK_H_
#define CLOCK_CLOCK_H_

namespace clocks {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int SecondsSinceMidnight() const = 0;
};

}  // namespace clocks

#endif  // CLOCK_CLOCK_H_
