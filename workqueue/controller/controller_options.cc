// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/controller_options.h"

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/controller/source.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue::internal {
namespace {

absl::Status AlsoGiven(absl::string_view option, absl::string_view other,
                       absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is given, and ", other, ", too; ", reason));
}

// Checks the options of a controller with an asynchronous reconcile function.
absl::Status CheckAsync(const ControllerOptionsBase& options,
                        const GivenOptions& given) {
  if (given.reconcile) {
    return AlsoGiven("reconcile", "reconcile_async", "give one of them");
  }
  if (options.executor != nullptr && options.workers != 1) {
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

// Checks those of a controller with a synchronous one.
absl::Status CheckSync(const ControllerOptionsBase& options,
                       const GivenOptions& given) {
  if (!given.reconcile) {
    return absl::InvalidArgumentError(
        "reconcile is empty; it must be callable, unless reconcile_async is");
  }
  if (options.executor != nullptr) {
    return AlsoGiven("executor", "reconcile",
                     "an executor runs only reconcile_async");
  }
  if (options.max_in_flight != ControllerOptionsBase().max_in_flight) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_in_flight is ", options.max_in_flight,
                     ", and reconcile is given, too; max_in_flight limits only "
                     "reconcile_async, and workers limits reconcile"));
  }
  return absl::OkStatus();
}

// Checks what a queue that is given has already.
absl::Status CheckQueue(const ControllerOptionsBase& options,
                        const GivenOptions& given) {
  if (given.queue_clock == nullptr) return absl::OkStatus();
  if (given.rate_limiter) {
    return AlsoGiven("rate_limiter", "queue",
                     "a queue has its own limiter; that of a SharedQueue is "
                     "SharedQueueOptions::retry_schedule");
  }
  if (given.ordering) {
    return AlsoGiven("ordering", "queue",
                     "a queue has its own ordering; that of a SharedQueue has "
                     "one dimension of groups, SharedQueueOptions::fair: see "
                     "the table of its groups in docs/shared-queue.md");
  }
  if (options.queue_metrics_provider != nullptr) {
    return AlsoGiven("queue_metrics_provider", "queue",
                     "a queue has its own metrics");
  }
  if (given.queue_clock != ClockOf(options, given.queue_clock)) {
    return absl::InvalidArgumentError(
        "clock is given, and queue has another clock; leave clock null, or "
        "create queue with the same clock");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const ControllerOptionsBase& options,
                          const GivenOptions& given) {
  absl::Status status = given.reconcile_async ? CheckAsync(options, given)
                                              : CheckSync(options, given);
  if (!status.ok()) return status;
  if (options.workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  status = CheckQueue(options, given);
  if (!status.ok()) return status;
  if (options.failures.clock != nullptr &&
      options.failures.clock != ClockOf(options, given.queue_clock)) {
    return absl::InvalidArgumentError(
        "failures.clock is given, and is not the clock of the controller; "
        "leave failures.clock null");
  }
  status = CheckFailureLedgerOptions(options.failures);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("failures.", status.message()));
  }
  status = CheckNotNegative("sync_timeout", options.sync_timeout);
  status.Update(CheckPositive("reconcile_timeout", options.reconcile_timeout));
  return status;
}

absl::Status CheckSource(size_t i, bool has_run, bool has_run_async,
                         const std::optional<RestartBackoff>& restart_backoff,
                         const QueueClock& clock) {
  const std::string source = absl::StrCat("sources[", i, "]");
  if (has_run && has_run_async) {
    return AlsoGiven(source + ".run", source + ".run_async",
                     "give one of them");
  }
  if (!has_run && !has_run_async) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ".run is empty; it must be callable, unless run_async is"));
  }
  if (has_run_async && clock.loop() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        ".run_async is given, and clock is not a WaitingLoop; its thread calls "
        "run_async"));
  }
  if (!restart_backoff.has_value()) return absl::OkStatus();
  return CheckRestartBackoff(source + ".restart_backoff", *restart_backoff);
}

absl::Status CheckTerms(size_t sources_with_term) {
  if (sources_with_term <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sources: ", sources_with_term,
                   " have a term; at most one may have one"));
}

}  // namespace workqueue::internal
