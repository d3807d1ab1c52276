// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_metrics_provider.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/labels.h"
#include "prometheus/registry.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauge.h"
#include "workqueue/prometheus/internal/gauge_share.h"
#include "workqueue/prometheus/internal/priority_depth_gauges.h"
#include "workqueue/prometheus/internal/registration.h"
#include "workqueue/prometheus/internal/wrap.h"

namespace workqueue {
namespace {

using internal::MutexLock;

prometheus::Labels LabelsOf(absl::string_view name) {
  return {{"name", std::string(name)}, {"controller", std::string(name)}};
}

// Returns the bounds of the buckets. They are multiplied up one from the other,
// as in Go: the error of that is seen in the label `le`, which a query may
// name.
prometheus::Histogram::BucketBoundaries DurationBuckets() {
  prometheus::Histogram::BucketBoundaries bounds(12);
  double bound = 1e-8;
  for (double& b : bounds) {
    b = bound;
    bound *= 10;
  }
  return bounds;
}

std::unique_ptr<CounterMetric> NewCounter(
    prometheus::Family<prometheus::Counter>* family, absl::string_view name) {
  return internal::Wrap(family->Add(LabelsOf(name)));
}

std::unique_ptr<HistogramMetric> NewHistogram(
    prometheus::Family<prometheus::Histogram>* family, absl::string_view name) {
  return internal::Wrap(family->Add(LabelsOf(name), DurationBuckets()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>>
PrometheusMetricsProvider::Create(
    std::shared_ptr<prometheus::Registry> registry) {
  internal::Registration registration(registry.get());
  Families families;
  families.depth = registration.AddGauge("workqueue_depth",
                                         "Items that wait to be processed.");
  families.adds = registration.AddCounter("workqueue_adds_total",
                                          "Items that have been added.");
  families.latency =
      registration.AddHistogram("workqueue_queue_duration_seconds",
                                "Seconds that an item waited to be processed.");
  families.work_duration =
      registration.AddHistogram("workqueue_work_duration_seconds",
                                "Seconds that processing an item took.");
  families.unfinished_work = registration.AddGauge(
      "workqueue_unfinished_work_seconds",
      "Seconds that the items now being processed have been so, added up. Its "
      "growth per second is the number of stuck workers.");
  families.longest_running_processor = registration.AddGauge(
      "workqueue_longest_running_processor_seconds",
      "Seconds that the item longest in processing has been so.");
  families.retries = registration.AddCounter(
      "workqueue_retries_total", "Adds with a delay, as retries are.");
  if (!registration.status().ok()) return registration.status();
  return absl::WrapUnique(
      new PrometheusMetricsProvider(std::move(registry), families));
}

PrometheusMetricsProvider::PrometheusMetricsProvider(
    std::shared_ptr<prometheus::Registry> registry, const Families& families)
    : registry_(std::move(registry)), families_(families) {}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewDepthMetric(
    absl::string_view name) {
  return std::make_unique<internal::GaugeShare>(
      &families_.depth->Add(LabelsOf(name)));
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewAddsMetric(
    absl::string_view name) {
  return NewCounter(families_.adds, name);
}

std::unique_ptr<HistogramMetric> PrometheusMetricsProvider::NewLatencyMetric(
    absl::string_view name) {
  return NewHistogram(families_.latency, name);
}

std::unique_ptr<HistogramMetric>
PrometheusMetricsProvider::NewWorkDurationMetric(absl::string_view name) {
  return NewHistogram(families_.work_duration, name);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewUnfinishedWorkSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.unfinished_work->Add(LabelsOf(name)),
      internal::CombinedGauge::Sum);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewLongestRunningProcessorSecondsMetric(
    absl::string_view name) {
  return combined_gauges_.NewPart(
      &families_.longest_running_processor->Add(LabelsOf(name)),
      internal::CombinedGauge::Max);
}

std::unique_ptr<PriorityGaugeMetric>
PrometheusMetricsProvider::NewDepthMetricWithPriority(absl::string_view name) {
  MutexLock lock(&mu_);
  return priority_depth_gauges_
      .try_emplace(std::string(name), families_.depth, LabelsOf(name))
      .first->second.NewMetric();
}

std::unique_ptr<CounterMetric> PrometheusMetricsProvider::NewRetriesMetric(
    absl::string_view name) {
  return NewCounter(families_.retries, name);
}

}  // namespace workqueue
