// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_STEADY_TIME_H_
#define WORKQUEUE_CLOCK_STEADY_TIME_H_

#include <cstdint>

#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Return the time of the machine's monotonic clock: the time since its epoch.
inline int64_t NanosSinceSteadyEpoch() { return sync::SteadyNanos(); }
inline absl::Duration SinceSteadyEpoch() {
  return absl::Nanoseconds(NanosSinceSteadyEpoch());
}

// The longest single wait. Longer waits are made of several. This keeps
// deadlines far in the future from overflowing the types of the operating
// system.
inline constexpr absl::Duration LongestWait() { return absl::Hours(24 * 365); }

// Returns the coarse time of the machine's monotonic clock in nanoseconds: the
// time of the kernel's last tick, where the system tells it. A tick takes 1 to
// 10 ms. The epoch is that of `std::chrono::steady_clock`.
inline int64_t CoarseSteadyNanos() { return sync::CoarseSteadyNanos(); }

// Returns a constant. The `CoarseTimeNow()` of the real clock, in nanoseconds
// since 1970, is the sum of this constant and `CoarseSteadyNanos()`. The sum
// takes half the time, because it makes no `absl::Time`.
int64_t RealClockEpochNanos();

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CLOCK_STEADY_TIME_H_
