// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_FINITE_TIME_H_
#define WORKQUEUE_BASE_FINITE_TIME_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace workqueue::internal {

// Returns `time`, or the first or last finite time if `time` is infinite. Makes
// a current time later than all past deadlines, and earlier than
// `absl::InfiniteFuture()`, which is a deadline that never comes.
inline absl::Time FiniteTime(absl::Time time) {
  const absl::Time first =
      absl::FromUnixSeconds((std::numeric_limits<int64_t>::min)());
  // An `absl::Time` counts quarters of a nanosecond.
  const absl::Time last =
      absl::FromUnixSeconds((std::numeric_limits<int64_t>::max)()) +
      (absl::Seconds(1) - absl::Nanoseconds(1) / 4);
  return std::clamp(time, first, last);
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_FINITE_TIME_H_
