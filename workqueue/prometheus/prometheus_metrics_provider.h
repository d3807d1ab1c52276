// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/prometheus_metrics_provider.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
#define WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauges.h"
#include "workqueue/prometheus/internal/priority_depth_gauges.h"

namespace workqueue {

// PrometheusMetricsProvider
//
// Keeps the metrics of queues in a registry of prometheus-cpp, under the names
// that Kubernetes gives them, so that dashboards and alerts made for
// controllers in Go work unchanged:
//
//     workqueue_depth                              gauge
//     workqueue_adds_total                         counter
//     workqueue_queue_duration_seconds             histogram
//     workqueue_work_duration_seconds              histogram
//     workqueue_unfinished_work_seconds            gauge
//     workqueue_longest_running_processor_seconds  gauge
//     workqueue_retries_total                      counter
//
// Example:
//
//     auto registry = std::make_shared<prometheus::Registry>();
//     auto provider = workqueue::PrometheusMetricsProvider::Create(registry);
//     if (!provider.ok()) return provider.status();
//     workqueue::SetProvider(provider->get());
//
// Labels and buckets are controller-runtime's, which include those of
// Kubernetes' own components: `name` and `controller` are both the queue's
// name. The depth of a queue that has priorities has a label `priority`, too.
// The first 25 priorities of a name have a time series each; all others share
// one, of the priority `exceeded_cardinality_limit`. The buckets of the
// histograms end at 10 ns and each power of ten times that, up to 1000 s.
//
// Queues of the same name share their metrics. Their depths and their
// unfinished work are added up, and of their longest-running processors the
// longest counts. What a queue still holds leaves the gauges when the queue is
// destroyed; no time series is removed, and counters and histograms go on with
// the next queue of the name.
//
// Thread-safe. A registry can have one provider at a time, and be scraped by
// any thread meanwhile. Needs prometheus-cpp, and so exceptions.
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

  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view name) override;
  std::unique_ptr<CounterMetric> NewAddsMetric(absl::string_view name) override;
  std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view name) override;
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) override;
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view name) override;
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(
      absl::string_view name) override;
  std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view name) override;
  std::unique_ptr<CounterMetric> NewRetriesMetric(
      absl::string_view name) override;

 private:
  // In the registry.
  struct Families {
    prometheus::Family<prometheus::Gauge>* depth;
    prometheus::Family<prometheus::Counter>* adds;
    prometheus::Family<prometheus::Histogram>* latency;
    prometheus::Family<prometheus::Histogram>* work_duration;
    prometheus::Family<prometheus::Gauge>* unfinished_work;
    prometheus::Family<prometheus::Gauge>* longest_running_processor;
    prometheus::Family<prometheus::Counter>* retries;
  };

  PrometheusMetricsProvider(std::shared_ptr<prometheus::Registry> registry,
                            const Families& families);

  const std::shared_ptr<prometheus::Registry> registry_;
  const Families families_;
  internal::CombinedGauges combined_gauges_;

  absl::Mutex mu_;
  // By the name of the queues.
  std::map<std::string, internal::PriorityDepthGauges> priority_depth_gauges_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_PROMETHEUS_METRICS_PROVIDER_H_
