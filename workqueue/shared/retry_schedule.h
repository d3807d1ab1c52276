// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_RETRY_SCHEDULE_H_
#define WORKQUEUE_SHARED_RETRY_SCHEDULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace workqueue {

// RetrySchedule
//
// The delays of an item's retries: the first one after its first failure, and
// so on. The last delay counts for all later failures. A `SharedQueue` counts
// the failures in the engine, for all processes, and so cannot ask a
// `RateLimiter`, which counts those of one process.
//
// The functions below return the delays of this library's limiters.
using RetrySchedule = std::vector<absl::Duration>;

// The delays of an `ItemExponentialFailureRateLimiter`: `base`, doubled with
// each failure, up to `max`. Both must be positive and finite, and `base` must
// not exceed `max`. Has one entry for each doubling.
absl::StatusOr<RetrySchedule> ExponentialRetrySchedule(absl::Duration base,
                                                       absl::Duration max);

// The delays of an `ItemFastSlowRateLimiter`: `fast` after each of the first
// `max_fast_attempts` failures, and `slow` from then on. Neither may be
// negative. `max_fast_attempts` is from 0 to 1000.
absl::StatusOr<RetrySchedule> FastSlowRetrySchedule(absl::Duration fast,
                                                    absl::Duration slow,
                                                    int max_fast_attempts);

// The delays of the default controller rate limiter: 5 ms, doubled up to
// 1000 s.
RetrySchedule DefaultRetrySchedule();

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_RETRY_SCHEDULE_H_
