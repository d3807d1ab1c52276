// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/internal/exponential_delay.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_INTERNAL_EXPONENTIAL_DELAY_H_
#define WORKQUEUE_RATELIMIT_INTERNAL_EXPONENTIAL_DELAY_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// Returns the smaller of `base` * 2^`failures` and `max`. `failures` must not
// be negative. `base` must be zero or at least one nanosecond.
//
// The result is exact if `max` is less than 2^63 nanoseconds (292 years), where
// client-go's durations end. For a longer `max`, the result is `max` if there
// are 63 failures or more. (client-go's own check lets exactly 2^63 ns pass,
// which becomes a negative delay on some machines.)
inline absl::Duration ExponentialDelay(absl::Duration base, absl::Duration max,
                                       int failures) {
  if (base == absl::ZeroDuration()) return base;
  if (failures >= 63) return max;
  // This saturates: a product that is too large becomes an infinite duration.
  return std::min(base * (int64_t{1} << failures), max);
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_EXPONENTIAL_DELAY_H_
