// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/check_options.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/controller/internal/restart_delays.h"

namespace workqueue {
namespace internal {

namespace {

// `name` names `source` in errors.
absl::Status CheckSource(absl::string_view name,
                         const CheckedOptions::Source& source) {
  if (!source.has_run) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ".run is empty; it must be callable"));
  }
  if (!source.restart_backoff.has_value()) return absl::OkStatus();
  return CheckRestartBackoff(absl::StrCat(name, ".restart_backoff"),
                             *source.restart_backoff);
}

// Checks the options of a controller with an asynchronous reconcile function.
absl::Status CheckAsync(const CheckedOptions& options) {
  if (options.has_reconcile) {
    return absl::InvalidArgumentError(
        "reconcile is given, and reconcile_async, too; give one of them");
  }
  if (options.has_executor && options.workers != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("workers is ", options.workers,
                     ", and executor is given, too; the executor has its own "
                     "threads"));
  }
  if (options.max_in_flight == 0) {
    return absl::InvalidArgumentError(
        "max_in_flight is 0; it must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const CheckedOptions& options) {
  if (options.has_reconcile_async) {
    const absl::Status status = CheckAsync(options);
    if (!status.ok()) return status;
  } else if (!options.has_reconcile) {
    return absl::InvalidArgumentError(
        "reconcile is empty; it must be callable, unless reconcile_async is");
  } else if (options.has_executor) {
    return absl::InvalidArgumentError(
        "executor is given, and reconcile, too; an executor runs only "
        "reconcile_async");
  } else if (options.has_max_in_flight) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_in_flight is ", options.max_in_flight,
                     ", and reconcile is given, too; max_in_flight limits only "
                     "reconcile_async, and workers limits reconcile"));
  }
  if (options.workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  if (options.has_rate_limiter && options.has_queue) {
    return absl::InvalidArgumentError(
        "rate_limiter is given, and queue, too; a queue has its own limiter");
  }
  if (options.has_ordering && options.has_queue) {
    return absl::InvalidArgumentError(
        "ordering is given, and queue, too; a queue has its own ordering");
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
  if (options.parking_clock_differs) {
    return absl::InvalidArgumentError(
        "parking.clock is given, and is not the clock of the controller; leave "
        "parking.clock null");
  }
  for (size_t i = 0; i < options.sources.size(); ++i) {
    absl::Status status =
        CheckSource(absl::StrCat("sources[", i, "]"), options.sources[i]);
    if (!status.ok()) return status;
  }
  absl::Status status = CheckNotNegative("sync_timeout", options.sync_timeout);
  status.Update(CheckPositive("reconcile_timeout", options.reconcile_timeout));
  return status;
}

}  // namespace internal
}  // namespace workqueue
