// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_METRICS_H_
#define WORKQUEUE_CONTROLLER_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace workqueue {

// ControllerMetricsProvider
//
// Creates the metrics of controllers. The metrics are those of
// controller-runtime, and some more. Each function below names its metric.
// Each function is called once for each new controller that has a name, with
// that name. `NewReconcileTotalMetric()` is called once for each result. The
// functions for parked items are called only if `ControllerOptions::failures`
// has a limit. A function may return null for an unwanted metric, and does so
// by default. A controller owns its metrics.
//
// The workers and the sources' threads call the metrics with no lock held. So a
// metric must be thread-safe. An exception from a metric is dropped.
//
// Thread-safe. A provider must outlive the controllers that use it.
class ControllerMetricsProvider {
 public:
  virtual ~ControllerMetricsProvider() = default;

  // The number of reconciliations with `result`, which is "success", "error" or
  // "requeue_after". (controller_runtime_reconcile_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view /*controller*/, absl::string_view /*result*/) {
    return nullptr;
  }

  // The number of reconciliations that failed for any reason, including the
  // reasons of the next two metrics.
  // (controller_runtime_reconcile_errors_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of reconciliations that returned a `TerminalError()`.
  // (controller_runtime_terminal_reconcile_errors_total)
  virtual std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of reconciliations that threw an exception.
  // (controller_runtime_reconcile_panics_total)
  virtual std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of reconciliations that were in progress at their deadline.
  // (controller_runtime_reconcile_timeouts_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The seconds that a reconciliation takes.
  // (controller_runtime_reconcile_time_seconds)
  virtual std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of workers. Set once.
  // (controller_runtime_max_concurrent_reconciles)
  virtual std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of workers that are reconciling an item.
  // (controller_runtime_active_workers)
  virtual std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of reconciliations of items that were added only because their
  // processing failed; see `AddOptions::retry`. All others are those of events.
  // A queue without priorities does not tell retries apart, so this counts none
  // then. Of a `SharedQueue`, this counts the items that have failures.
  // controller-runtime has no such metric, and also none of the next ones.
  // (workqueue_controller_reconcile_retries_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileRetriesMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of workers that are reconciling such an item.
  // (workqueue_controller_active_retries)
  virtual std::unique_ptr<GaugeMetric> NewActiveRetriesMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of sources that run. A source that has returned or waits for its
  // restart does not count. (workqueue_controller_running_sources)
  virtual std::unique_ptr<GaugeMetric> NewRunningSourcesMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of sources that have reported an error or failed, and are not
  // healthy again: those that `Healthy()` of a started controller names. None
  // after a stop. (workqueue_controller_unhealthy_sources)
  virtual std::unique_ptr<GaugeMetric> NewUnhealthySourcesMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // The number of items that are parked: see `ControllerOptions::failures`.
  // (workqueue_controller_parked_items)
  virtual std::unique_ptr<GaugeMetric> NewParkedItemsMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }

  // How often an item was parked. (workqueue_controller_parked_total)
  virtual std::unique_ptr<CounterMetric> NewParkedTotalMetric(
      absl::string_view /*controller*/) {
    return nullptr;
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_METRICS_H_
