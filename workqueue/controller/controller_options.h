// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_
#define WORKQUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue {

class ControllerMetricsProvider;  // workqueue/controller/metrics.h

// ControllerOptionsBase
//
// The options of a `Controller` that do not depend on the type of its items.
struct ControllerOptionsBase {
  // The controller's name in metrics and messages. A controller without a name
  // reports no metrics.
  std::string name;

  // The number of workers, and so the maximum number of items that are
  // reconciled at the same time. At least 1.
  size_t workers = 1;

  // The maximum number of items that are reconciled at the same time by
  // `reconcile_async`. At least 1. They take no threads, so it may be large.
  // With `reconcile`, must be the default: see `workers`.
  size_t max_in_flight = 100;

  // The executor that calls `reconcile_async`; null means a new `ThreadPool` of
  // `workers` threads or, if the program drives the loop of `clock`, a new
  // `LoopExecutor`. If given, `workers` must be 1, and `reconcile` empty. Not
  // owned; must outlive the controller.
  //
  // With a queue in an engine, as a `SharedQueue`, its tasks do not call the
  // queue, so it may be an event loop that must not block. Then the controller
  // has other threads for the calls: 8, or `max_in_flight` if that is less.
  // With a queue in memory, a task may wait for a second after an error or
  // exception of the queue.
  Executor* executor = nullptr;

  // The clock of the controller, or a loop that the controller shares with the
  // queue that it makes. Null means the clock of `queue` or, if `queue` is
  // null, the real clock. Must be the clock of `queue` if both are given.
  //
  // If the program drives the loop, `StartAsync()` and `StopAsync()` do not
  // block, and a controller with `reconcile_async`, whose sources have no
  // `run`, has no thread, unless its queue is in an engine.
  QueueClock clock;

  // The maximum time that `Start()` waits for the sources. Not negative; may be
  // infinite.
  absl::Duration sync_timeout = absl::Minutes(2);

  // The maximum time of a reconciliation; see `ReconcileContext::Remaining()`
  // and `AsyncReconcileContext::OnCancel()`. Positive; may be infinite.
  absl::Duration reconcile_timeout = absl::InfiniteDuration();

  // When the controller gives up on an item that fails again and again: it
  // parks the item. A parked item is not tried again, until
  // `Failures::Unpark()` or, with `unpark_on_add`, the next addition of
  // the item to the queue. By default an item is tried again for ever. The
  // clock in these options must be null or the controller's clock. A controller
  // on a `SharedQueue` calls `SharedFailures::SetLimits()` with these options.
  FailureLedgerOptions failures;

  // The provider of metrics for the queue that the controller makes; null means
  // the default provider of queues. Must be null if `queue` is given. Not
  // owned; must outlive the controller.
  MetricsProvider* queue_metrics_provider = nullptr;

  // The provider of the controller's own metrics; null means no metrics. Not
  // owned; must outlive the controller.
  ControllerMetricsProvider* metrics_provider = nullptr;

  // Receives the messages of the controller and of the queue that the
  // controller makes; null means that nobody does. Not owned; must outlive the
  // controller.
  //
  // The controller sends at most ten messages at once, and then two per second,
  // about each of these: failed reconciliations, errors of its queue, and
  // errors of its sources. Of the failures of an item, it sends the first, the
  // second, the fourth, the eighth and so on, each terminal error, and each
  // failure that parks the item. A message says how many before it were left
  // out. The messages about the start and the stop, one of each kind, have no
  // limit.
  LogSink* log_sink = nullptr;
};

// ControllerOptions
//
// Options of a `Controller`. Only `reconcile` must be set.
template <typename T>
struct ControllerOptions : ControllerOptionsBase {
  // The function that the workers call with each item. Give this function or
  // `reconcile_async`.
  ReconcileFunction<T> reconcile;

  // A function that starts to reconcile an item, in the place of `reconcile`.
  // It is called on `executor`.
  AsyncReconcileFunction<T> reconcile_async;

  // Chooses when a failed item is tried again; null means the default of
  // `PriorityQueue`. Must be null if `queue` is given.
  std::unique_ptr<RateLimiter<T>> rate_limiter;

  // The order in which the queue hands out items; null means by priority. Must
  // be null if `queue` is given.
  std::unique_ptr<Ordering<T>> ordering;

  // The queue; null means a new `PriorityQueue`. A given queue uses its own
  // rate limiter, ordering, metrics and log sink. It need not have priorities.
  std::unique_ptr<RateLimitingInterface<T>> queue;

  // The sources of items. Other code may also add items to the queue at any
  // time.
  std::vector<Source<T>> sources;
};

namespace internal {

// Which of the options that depend on the type of the items are given.
struct GivenOptions {
  bool reconcile = false;
  bool reconcile_async = false;
  bool rate_limiter = false;
  bool ordering = false;
  Clock* queue_clock = nullptr;  // null if `queue` is not given
  // Whether an engine keeps the failures of `queue`.
  bool shared = false;
  bool term = false;  // of a source
};

// Returns the clock of a controller. `queue_clock` is as in `GivenOptions`.
inline Clock* ClockOf(const ControllerOptionsBase& options,
                      Clock* queue_clock) {
  return !options.clock.given() && queue_clock != nullptr
             ? queue_clock
             : options.clock.clock();
}

// Return an `absl::InvalidArgumentError` that names the field if an option is
// out of its range or contradicts another one. `i` is the index of the source.
absl::Status CheckOptions(const ControllerOptionsBase& options,
                          const GivenOptions& given);
absl::Status CheckSource(size_t i, bool has_run, bool has_run_async,
                         const std::optional<RestartBackoff>& restart_backoff,
                         const QueueClock& clock);
absl::Status CheckTerms(size_t sources_with_term);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_CONTROLLER_OPTIONS_H_
