// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/retry_schedule.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"

namespace workqueue {
namespace {

constexpr int kMaxFastAttempts = 1000;

}  // namespace

absl::StatusOr<RetrySchedule> ExponentialRetrySchedule(absl::Duration base,
                                                       absl::Duration max) {
  absl::Status status = internal::CheckFiniteAndPositive("base", base);
  status.Update(internal::CheckFiniteAndPositive("max", max));
  if (!status.ok()) return status;
  if (base > max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "base is ", absl::FormatDuration(base),
        "; it must not exceed max, which is ", absl::FormatDuration(max)));
  }
  RetrySchedule schedule;
  for (absl::Duration delay = base; delay < max; delay *= 2) {
    schedule.push_back(delay);
  }
  schedule.push_back(max);
  return schedule;
}

absl::StatusOr<RetrySchedule> FastSlowRetrySchedule(absl::Duration fast,
                                                    absl::Duration slow,
                                                    int max_fast_attempts) {
  if (max_fast_attempts < 0 || max_fast_attempts > kMaxFastAttempts) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_fast_attempts is ", max_fast_attempts,
                     "; it must be from 0 to ", kMaxFastAttempts));
  }
  absl::Status status = internal::CheckNotNegative("fast", fast);
  status.Update(internal::CheckNotNegative("slow", slow));
  if (!status.ok()) return status;
  RetrySchedule schedule(static_cast<size_t>(max_fast_attempts), fast);
  schedule.push_back(slow);
  return schedule;
}

RetrySchedule DefaultRetrySchedule() {
  // Does not fail with these arguments.
  return *ExponentialRetrySchedule(absl::Milliseconds(5), absl::Seconds(1000));
}

}  // namespace workqueue
