// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// controller/prometheus/prometheus_metrics_provider.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
#define WORKQUEUE_CONTROLLER_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/metrics.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauges.h"

namespace controller {

// PrometheusMetricsProvider
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
//     auto metrics = controller::PrometheusMetricsProvider::Create(registry);
//     if (!metrics.ok()) return metrics.status();
//     auto queue_metrics =
//         workqueue::PrometheusMetricsProvider::Create(registry);
//     if (!queue_metrics.ok()) return queue_metrics.status();
//     options.metrics_provider = metrics->get();
//     options.queue_metrics_provider = queue_metrics->get();
//
// Labels and buckets are controller-runtime's, too: `controller` is the
// controller's name, and the first metric has a label `result`, which is
// "success", "error" or "requeue_after". A controller shows all of its metrics,
// and the first one with each of these, from its creation on, at zero. There is
// no `result="requeue"`: no `Result` of ours asks for that. The buckets of the
// histogram are 40, from 5 ms to 60 s; prometheus-cpp has no native histograms.
//
// Controllers of the same name share their metrics, and their gauges are added
// up. What a controller has in them leaves them when it is destroyed; no time
// series is removed, and counters and the histogram go on with the next
// controller of the name.
//
// Thread-safe. A registry can have one provider of this kind at a time, and be
// scraped by any thread meanwhile. Needs prometheus-cpp, and so exceptions.
class PrometheusMetricsProvider final : public MetricsProvider {
 public:
  // Returns a new provider that keeps its metrics in `registry`. They stay
  // there after it; the next provider for `registry` continues them.
  //
  // Returns an `absl::InvalidArgumentError` if `registry` is null, or has other
  // metrics under one of the names.
  static absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>> Create(
      std::shared_ptr<prometheus::Registry> registry);

  PrometheusMetricsProvider(const PrometheusMetricsProvider&) = delete;
  PrometheusMetricsProvider& operator=(const PrometheusMetricsProvider&) =
      delete;

  std::unique_ptr<workqueue::CounterMetric> NewReconcileTotalMetric(
      absl::string_view controller, absl::string_view result) override;
  std::unique_ptr<workqueue::CounterMetric> NewReconcileErrorsMetric(
      absl::string_view controller) override;
  std::unique_ptr<workqueue::CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view controller) override;
  std::unique_ptr<workqueue::CounterMetric> NewReconcilePanicsMetric(
      absl::string_view controller) override;
  std::unique_ptr<workqueue::CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view controller) override;
  std::unique_ptr<workqueue::HistogramMetric> NewReconcileTimeMetric(
      absl::string_view controller) override;
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewMaxConcurrentReconcilesMetric(absl::string_view controller) override;
  std::unique_ptr<workqueue::GaugeMetric> NewActiveWorkersMetric(
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

  PrometheusMetricsProvider(std::shared_ptr<prometheus::Registry> registry,
                            const Families& families);

  const std::shared_ptr<prometheus::Registry> registry_;
  const Families families_;
  workqueue::internal::CombinedGauges combined_gauges_;
};

}  // namespace controller

#endif  // WORKQUEUE_CONTROLLER_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
