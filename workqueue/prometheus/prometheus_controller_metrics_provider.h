// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/prometheus_controller_metrics_provider.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_PROMETHEUS_CONTROLLER_METRICS_PROVIDER_H_
#define WORKQUEUE_PROMETHEUS_PROMETHEUS_CONTROLLER_METRICS_PROVIDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauges.h"

namespace workqueue {

// PrometheusControllerMetricsProvider
//
// Keeps the metrics of controllers in a registry of prometheus-cpp, under the
// names that controller-runtime gives them, so that dashboards and alerts made
// for controllers in Go work unchanged:
//
//     controller_runtime_reconcile_total                  counter
//     controller_runtime_reconcile_errors_total           counter
//     controller_runtime_terminal_reconcile_errors_total  counter
//     controller_runtime_reconcile_panics_total           counter
//     controller_runtime_reconcile_timeouts_total         counter
//     controller_runtime_reconcile_time_seconds           histogram
//     controller_runtime_max_concurrent_reconciles        gauge
//     controller_runtime_active_workers                   gauge
//
// Example, for a controller and its queue:
//
//     auto registry = std::make_shared<prometheus::Registry>();
//     auto metrics =
//     workqueue::PrometheusControllerMetricsProvider::Create(registry); if
//     (!metrics.ok()) return metrics.status(); auto queue_metrics =
//         workqueue::PrometheusMetricsProvider::Create(registry);
//     if (!queue_metrics.ok()) return queue_metrics.status();
//     options.metrics_provider = metrics->get();
//     options.queue_metrics_provider = queue_metrics->get();
//
// Labels and buckets are controller-runtime's, too: `controller` is the
// controller's name, and the first metric has a label `result`, which is
// "success", "error" or "requeue_after". A controller shows all of its metrics,
// and the first one with each of these, from its creation on, at zero. There is
// no `result="requeue"`: no `ReconcileResult` of ours asks for that. The
// buckets of the histogram are 40, from 5 ms to 60 s; prometheus-cpp has no
// native histograms.
//
// Controllers of the same name share their metrics, and their gauges are added
// up. What a controller has in them leaves them when it is destroyed; no time
// series is removed, and counters and the histogram go on with the next
// controller of the name.
//
// Thread-safe. A registry can have one provider of this kind at a time, and be
// scraped by any thread meanwhile. Needs prometheus-cpp, and so exceptions.
class PrometheusControllerMetricsProvider final
    : public ControllerMetricsProvider {
 public:
  // Returns a new provider that keeps its metrics in `registry`. They stay
  // there after it; the next provider for `registry` continues them.
  //
  // Returns an `absl::InvalidArgumentError` if `registry` is null, or has other
  // metrics under one of the names.
  static absl::StatusOr<std::unique_ptr<PrometheusControllerMetricsProvider>>
  Create(std::shared_ptr<prometheus::Registry> registry);

  PrometheusControllerMetricsProvider(
      const PrometheusControllerMetricsProvider&) = delete;
  PrometheusControllerMetricsProvider& operator=(
      const PrometheusControllerMetricsProvider&) = delete;

  std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view controller, absl::string_view result) override;
  std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view controller) override;
  std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view controller) override;
  std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view controller) override;
  std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view controller) override;
  std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view controller) override;
  std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view controller) override;
  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view controller) override;

 private:
  // In the registry.
  struct Families {
    prometheus::Family<prometheus::Counter>* total;
    prometheus::Family<prometheus::Counter>* errors;
    prometheus::Family<prometheus::Counter>* terminal_errors;
    prometheus::Family<prometheus::Counter>* panics;
    prometheus::Family<prometheus::Counter>* timeouts;
    prometheus::Family<prometheus::Histogram>* time;
    prometheus::Family<prometheus::Gauge>* max_concurrent;
    prometheus::Family<prometheus::Gauge>* active_workers;
  };

  PrometheusControllerMetricsProvider(
      std::shared_ptr<prometheus::Registry> registry, const Families& families);

  const std::shared_ptr<prometheus::Registry> registry_;
  const Families families_;
  internal::CombinedGauges combined_gauges_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_PROMETHEUS_CONTROLLER_METRICS_PROVIDER_H_
