// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/failure_ledger.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/check_duration.h"

namespace workqueue::internal {

absl::Status CheckFailureLedgerOptions(const FailureLedgerOptions& options) {
  if (options.max_failures.has_value() && *options.max_failures < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_failures is ", *options.max_failures, "; it must be at least 1"));
  }
  if (options.max_parked == 0) {
    return absl::InvalidArgumentError("max_parked is 0; it must be at least 1");
  }
  return CheckPositive("max_failing_time", options.max_failing_time);
}

}  // namespace workqueue::internal
