// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/check_options.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "workqueue/internal/check_duration.h"

namespace workqueue {
namespace internal {

absl::Status CheckOptions(const CheckedOptions& options) {
  if (!options.has_reconcile) {
    return absl::InvalidArgumentError(
        "reconcile is empty; it must be callable");
  }
  if (options.workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  if (options.has_rate_limiter && options.has_queue) {
    return absl::InvalidArgumentError(
        "rate_limiter is given, and queue, too; a queue has its own limiter");
  }
  if (options.has_queue_metrics_provider && options.has_queue) {
    return absl::InvalidArgumentError(
        "queue_metrics_provider is given, and queue, too; a queue has its own "
        "metrics");
  }
  if (options.clocks_differ) {
    return absl::InvalidArgumentError(
        "clock is given, and queue has another clock; leave clock null, or "
        "create queue with the same clock");
  }
  for (size_t i = 0; i < options.sources_with_run.size(); ++i) {
    if (!options.sources_with_run[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("sources[", i, "].run is empty; it must be callable"));
    }
  }
  absl::Status status = CheckNotNegative("sync_timeout", options.sync_timeout);
  status.Update(CheckPositive("reconcile_timeout", options.reconcile_timeout));
  return status;
}

}  // namespace internal
}  // namespace workqueue
