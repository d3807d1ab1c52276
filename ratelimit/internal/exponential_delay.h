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

// Returns `base` * 2^`failures`, or `max` if that is less. Exact for every
// number of failures from zero.
//
// `base` is zero or at least a nanosecond. 2^63 nanoseconds, 292 years, count
// as more than any `max`: client-go has no longer duration. (It lets exactly
// that many past its check, and they become a negative delay on some machines.)
inline absl::Duration ExponentialDelay(absl::Duration base, absl::Duration max,
                                       int failures) {
  if (base == absl::ZeroDuration()) return base;
  if (failures >= 63) return max;
  // Saturates: too large a product is an infinite duration.
  return std::min(base * (int64_t{1} << failures), max);
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_EXPONENTIAL_DELAY_H_
