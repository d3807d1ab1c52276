// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/coarse_real_nanos.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_
#define WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_

#include <time.h>

#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>

namespace workqueue {
namespace internal {

// Returns the coarse time of the machine's monotonic clock in nanoseconds: the
// time of the kernel's last tick, where the system tells it. A tick takes 1 to
// 10 ms. The epoch is that of `std::chrono::steady_clock`.
inline int64_t CoarseSteadyNanos() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0) {
    return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
  }
#endif
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns a constant. The `CoarseTimeNow()` of the real clock, in nanoseconds
// since 1970, is the sum of this constant and `CoarseSteadyNanos()`. The sum
// takes half the time, because it makes no `absl::Time`.
int64_t RealClockEpochNanos();

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_
