// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/coarse_real_nanos.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_
#define WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_

#include <cstdint>

namespace workqueue {
namespace internal {

// Returns the `CoarseTimeNow()` of the real clock in nanoseconds since 1970.
// Takes half the time, because it makes no `absl::Time`.
int64_t CoarseRealNanos();

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_COARSE_REAL_NANOS_H_
