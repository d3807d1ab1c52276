// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_METRICS_H_
#define WORKQUEUE_CONTROLLER_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace workqueue {

// ControllerMetricsProvider
//
// Makes the metrics of controllers: those of controller-runtime, whose names
// are given with each. Each function is called once for each new controller
// that has a name, with that, and the first one once for each result. It may
// return null for a metric that is not wanted. Metrics are called by the
// workers, with no lock held; what they throw is dropped.
//
// Thread-safe. A provider must outlive the controllers that were given it, and
// they own the metrics that it makes.
class ControllerMetricsProvider {
 public:
  virtual ~ControllerMetricsProvider() = default;

  // How often reconciling has come to `result`: "success", "error" or
  // "requeue_after". (controller_runtime_reconcile_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view controller, absl::string_view result) = 0;

  // How often it has failed, for whatever reason, those of the next two
  // included. (controller_runtime_reconcile_errors_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view controller) = 0;

  // ... with a `TerminalError()`.
  // (controller_runtime_terminal_reconcile_errors_total)
  virtual std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view controller) = 0;

  // ... with an exception. (controller_runtime_reconcile_panics_total)
  virtual std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view controller) = 0;

  // How often it was not over at its deadline.
  // (controller_runtime_reconcile_timeouts_total)
  virtual std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view controller) = 0;

  // Seconds that reconciling an item takes.
  // (controller_runtime_reconcile_time_seconds)
  virtual std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view controller) = 0;

  // How many workers there are. Set once.
  // (controller_runtime_max_concurrent_reconciles)
  virtual std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view controller) = 0;

  // How many of them are reconciling. (controller_runtime_active_workers)
  virtual std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view controller) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_METRICS_H_
