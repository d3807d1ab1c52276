// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/interfaces.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/executor.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

absl::Status CheckAddOptions(const AddOptions& options, AddSupport support) {
  if (options.rate_limited && support != AddSupport::kRateLimited) {
    return absl::InvalidArgumentError(
        "rate_limited is true; this queue has no rate limiter");
  }
  if (options.rate_limited && options.reschedule) {
    return absl::InvalidArgumentError(
        "reschedule and rate_limited are true; they do not combine");
  }
  if (options.after.has_value() && *options.after > absl::ZeroDuration() &&
      support == AddSupport::kAtOnce) {
    return absl::InvalidArgumentError(
        absl::StrCat("after is ", absl::FormatDuration(*options.after),
                     "; this queue cannot add an item later"));
  }
  return absl::OkStatus();
}

void internal::DieIfNoCallback(const Executor* executor, bool has_callback) {
  DieIfNull(executor, "executor of AcquireAsync()");
  if (!has_callback) Fatal("the callback of AcquireAsync() is null");
}

void internal::DieIfGetNeverEnds(const absl::Status& error) {
  DieIfWouldBlockLoop("Get()", error);
}

}  // namespace workqueue
