// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/reconcile_metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// ReconcileMetrics
//
// A controller's metrics. They report to nobody if there is no provider, and
// never throw: what a metric throws is dropped.
//
// Thread-safe.
class ReconcileMetrics {
 public:
  // `provider` may be null. There are none for a controller without a name.
  ReconcileMetrics(absl::string_view controller, size_t workers,
                   ControllerMetricsProvider* provider);

  // Whether there are any.
  bool wanted() const { return wanted_; }

  // One reconciliation, from its begin to its end.
  void RecordStart() const;
  void RecordEnd(absl::Duration took) const;

  // What came of it: one of these,
  void RecordSuccess() const;
  void RecordRequeueAfter() const;
  void RecordError() const;
  // ... and these besides.
  void RecordTerminalError() const;
  void RecordException() const;
  void RecordTimeout() const;

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
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
