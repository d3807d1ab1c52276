// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// controller/internal/reconcile_metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/metrics.h"
#include "workqueue/metrics.h"

namespace controller {
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
                   MetricsProvider* provider);

  // Whether there are any.
  bool wanted() const { return wanted_; }

  // One reconciliation, from its begin to its end.
  void Begun() const;
  void Ended(absl::Duration took) const;

  // What came of it: one of these,
  void Succeeded() const;
  void RequeuedAfter() const;
  void Failed() const;
  // ... and these besides.
  void FailedTerminally() const;
  void Threw() const;
  void TimedOut() const;

 private:
  const bool wanted_;
  std::unique_ptr<workqueue::CounterMetric> success_;
  std::unique_ptr<workqueue::CounterMetric> requeue_after_;
  std::unique_ptr<workqueue::CounterMetric> error_;
  std::unique_ptr<workqueue::CounterMetric> errors_;
  std::unique_ptr<workqueue::CounterMetric> terminal_errors_;
  std::unique_ptr<workqueue::CounterMetric> panics_;
  std::unique_ptr<workqueue::CounterMetric> timeouts_;
  std::unique_ptr<workqueue::HistogramMetric> time_;
  std::unique_ptr<workqueue::SettableGaugeMetric> max_concurrent_;
  std::unique_ptr<workqueue::GaugeMetric> active_workers_;
};

}  // namespace internal
}  // namespace controller

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RECONCILE_METRICS_H_
