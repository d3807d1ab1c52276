// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {

// ReconcileMetrics
//
// The metrics of a controller. No function but the constructor throws: an
// exception from a metric is dropped.
//
// Thread-safe.
class ReconcileMetrics {
 public:
  // Creates the metrics. Creates none if `provider` is null or `controller`,
  // the controller's name, is empty: then the functions below do nothing.
  ReconcileMetrics(absl::string_view controller, size_t workers,
                   ControllerMetricsProvider* provider);

  // Creates the metrics of the items that the controller parks, on the same
  // conditions. Without a ledger, `RecordParked()` must be called.
  FailureLedgerMetrics NewLedgerMetrics(
      absl::string_view controller, ControllerMetricsProvider* provider) const;
  void NewParkedMetric(absl::string_view controller,
                       ControllerMetricsProvider* provider);

  // Returns whether the constructor created the metrics.
  bool wanted() const { return wanted_; }

  // Called at the begin and at the end of a reconciliation. `took` is its
  // duration. `is_retry` is that of the item's lease.
  void RecordStart(bool is_retry) const;
  void RecordEnd(absl::Duration took, bool is_retry) const;

  // Records the result of a reconciliation. Call exactly one of these functions
  // for each reconciliation.
  void RecordSuccess() const;
  void RecordRequeueAfter() const;
  void RecordError() const;

  // Called at the begin and at the end of a source's `run`.
  void RecordSourceStart() const;
  void RecordSourceEnd() const;

  // Record further facts about a reconciliation.
  void RecordTerminalError() const;
  void RecordException() const;
  void RecordTimeout() const;
  void RecordParked() const;

 private:
  const bool wanted_;
  std::unique_ptr<CounterMetric> success_;
  std::unique_ptr<CounterMetric> requeue_after_;
  std::unique_ptr<CounterMetric> error_;
  std::unique_ptr<CounterMetric> errors_;
  std::unique_ptr<CounterMetric> terminal_errors_;
  std::unique_ptr<CounterMetric> panics_;
  std::unique_ptr<CounterMetric> timeouts_;
  std::unique_ptr<HistogramMetric> time_;
  std::unique_ptr<SettableGaugeMetric> max_concurrent_;
  std::unique_ptr<GaugeMetric> active_workers_;
  std::unique_ptr<CounterMetric> retries_;
  std::unique_ptr<GaugeMetric> active_retries_;
  std::unique_ptr<GaugeMetric> running_sources_;
  std::unique_ptr<CounterMetric> parked_total_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
