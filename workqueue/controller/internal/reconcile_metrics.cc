// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/reconcile_metrics.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/failure_ledger.h"

namespace workqueue::internal {
namespace {

// Calls `act(*metric)` if `metric` is not null. Drops an exception.
template <typename Metric, typename F>
void With(const Metric& metric, F act) {
  if (metric == nullptr) return;
  internal::TryCall([&] { act(*metric); });
}

template <typename Metric>
void Inc(const Metric& metric) {
  With(metric, [](auto& m) { m.Inc(); });
}

}  // namespace

ReconcileMetrics::ReconcileMetrics(absl::string_view controller, size_t workers,
                                   ControllerMetricsProvider* provider)
    : wanted_(provider != nullptr && !controller.empty()) {
  if (!wanted_) return;
  success_ = provider->NewReconcileTotalMetric(controller, "success");
  requeue_after_ =
      provider->NewReconcileTotalMetric(controller, "requeue_after");
  error_ = provider->NewReconcileTotalMetric(controller, "error");
  errors_ = provider->NewReconcileErrorsMetric(controller);
  terminal_errors_ = provider->NewTerminalReconcileErrorsMetric(controller);
  panics_ = provider->NewReconcilePanicsMetric(controller);
  timeouts_ = provider->NewReconcileTimeoutsMetric(controller);
  time_ = provider->NewReconcileTimeMetric(controller);
  max_concurrent_ = provider->NewMaxConcurrentReconcilesMetric(controller);
  active_workers_ = provider->NewActiveWorkersMetric(controller);
  retries_ = provider->NewReconcileRetriesMetric(controller);
  active_retries_ = provider->NewActiveRetriesMetric(controller);
  running_sources_ = provider->NewRunningSourcesMetric(controller);
  With(max_concurrent_,
       [workers](auto& m) { m.Set(static_cast<double>(workers)); });
}

FailureLedgerMetrics ReconcileMetrics::NewLedgerMetrics(
    absl::string_view controller, ControllerMetricsProvider* provider) const {
  FailureLedgerMetrics metrics;
  if (!wanted_) return metrics;
  metrics.parked = provider->NewParkedItemsMetric(controller);
  metrics.parked_total = provider->NewParkedTotalMetric(controller);
  return metrics;
}

void ReconcileMetrics::NewParkedMetric(absl::string_view controller,
                                       ControllerMetricsProvider* provider) {
  if (wanted_) parked_total_ = provider->NewParkedTotalMetric(controller);
}

void ReconcileMetrics::RecordStart(bool is_retry) const {
  Inc(active_workers_);
  if (!is_retry) return;
  Inc(retries_);
  Inc(active_retries_);
}

void ReconcileMetrics::RecordEnd(absl::Duration took, bool is_retry) const {
  With(active_workers_, [](auto& m) { m.Dec(); });
  if (is_retry) With(active_retries_, [](auto& m) { m.Dec(); });
  // The clock may have gone back.
  took = std::max(took, absl::ZeroDuration());
  With(time_, [took](auto& m) { m.Observe(absl::ToDoubleSeconds(took)); });
}

void ReconcileMetrics::RecordSourceStart() const { Inc(running_sources_); }

void ReconcileMetrics::RecordSourceEnd() const {
  With(running_sources_, [](auto& m) { m.Dec(); });
}

void ReconcileMetrics::RecordSuccess() const { Inc(success_); }

void ReconcileMetrics::RecordRequeueAfter() const { Inc(requeue_after_); }

void ReconcileMetrics::RecordError() const {
  Inc(error_);
  Inc(errors_);
}

void ReconcileMetrics::RecordTerminalError() const { Inc(terminal_errors_); }

void ReconcileMetrics::RecordException() const { Inc(panics_); }

void ReconcileMetrics::RecordTimeout() const { Inc(timeouts_); }

void ReconcileMetrics::RecordParked() const { Inc(parked_total_); }

}  // namespace workqueue::internal
