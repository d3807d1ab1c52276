// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/steady_time.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_STEADY_TIME_H_
#define WORKQUEUE_CLOCK_INTERNAL_STEADY_TIME_H_

#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>

#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// Return the time of the machine's monotonic clock: the time since its epoch.
inline int64_t NanosSinceSteadyEpoch() {
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline absl::Duration SinceSteadyEpoch() {
  return absl::Nanoseconds(NanosSinceSteadyEpoch());
}

// The longest single wait. Longer waits are made of several. This keeps
// deadlines far in the future from overflowing the types of the operating
// system.
inline constexpr absl::Duration LongestWait() { return absl::Hours(24 * 365); }

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_STEADY_TIME_H_
