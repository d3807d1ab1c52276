// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/prometheus_metrics_provider.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/exceptions.h"
#include "base/mutex_lock.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/labels.h"
#include "prometheus/registry.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauge.h"
#include "workqueue/prometheus/internal/depth_gauge.h"
#include "workqueue/prometheus/internal/priority_depth_gauges.h"

namespace workqueue {
namespace {

using ::workqueue_internal::MutexLock;

class PrometheusCounter final : public CounterMetric {
 public:
  explicit PrometheusCounter(prometheus::Counter* counter)
      : counter_(counter) {}
  void Inc() override { counter_->Increment(); }

 private:
  prometheus::Counter* const counter_;
};

class PrometheusHistogram final : public HistogramMetric {
 public:
  explicit PrometheusHistogram(prometheus::Histogram* histogram)
      : histogram_(histogram) {}
  void Observe(double value) override { histogram_->Observe(value); }

 private:
  prometheus::Histogram* const histogram_;
};

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

// Points `*family` to the one of this name in `registry`, which makes it if
// there is none.
template <typename Builder, typename Family>
absl::Status Register(Builder builder, const char* name, const char* help,
                      prometheus::Registry& registry, Family** family) {
  if (workqueue_internal::ReturnsNormally([&] {
        *family = &builder.Name(name).Help(help).Register(registry);
      })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("registry must not have other metrics of the name ", name));
}

std::unique_ptr<CounterMetric> NewCounter(
    prometheus::Family<prometheus::Counter>* family, absl::string_view name) {
  return std::make_unique<PrometheusCounter>(&family->Add(LabelsOf(name)));
}

std::unique_ptr<HistogramMetric> NewHistogram(
    prometheus::Family<prometheus::Histogram>* family, absl::string_view name) {
  return std::make_unique<PrometheusHistogram>(
      &family->Add(LabelsOf(name), DurationBuckets()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrometheusMetricsProvider>>
PrometheusMetricsProvider::Create(
    std::shared_ptr<prometheus::Registry> registry) {
  if (registry == nullptr) {
    return absl::InvalidArgumentError("registry must not be null");
  }
  Families families;
  absl::Status status;
  const auto add = [&](auto builder, const char* name, const char* help,
                       auto** family) {
    status.Update(Register(std::move(builder), name, help, *registry, family));
  };
  add(prometheus::BuildGauge(), "workqueue_depth",
      "Items that wait to be processed.", &families.depth);
  add(prometheus::BuildCounter(), "workqueue_adds_total",
      "Items that have been added.", &families.adds);
  add(prometheus::BuildHistogram(), "workqueue_queue_duration_seconds",
      "Seconds that an item waited to be processed.", &families.latency);
  add(prometheus::BuildHistogram(), "workqueue_work_duration_seconds",
      "Seconds that processing an item took.", &families.work_duration);
  add(prometheus::BuildGauge(), "workqueue_unfinished_work_seconds",
      "Seconds that the items now being processed have been so, added up. Its "
      "growth per second is the number of stuck workers.",
      &families.unfinished_work);
  add(prometheus::BuildGauge(), "workqueue_longest_running_processor_seconds",
      "Seconds that the item longest in processing has been so.",
      &families.longest_running_processor);
  add(prometheus::BuildCounter(), "workqueue_retries_total",
      "Adds with a delay, as retries are.", &families.retries);
  if (!status.ok()) return status;
  return absl::WrapUnique(
      new PrometheusMetricsProvider(std::move(registry), families));
}

PrometheusMetricsProvider::PrometheusMetricsProvider(
    std::shared_ptr<prometheus::Registry> registry, const Families& families)
    : registry_(std::move(registry)), families_(families) {}

std::unique_ptr<GaugeMetric> PrometheusMetricsProvider::NewDepthMetric(
    absl::string_view name) {
  return std::make_unique<internal::DepthGauge>(
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
  return NewPart(
      families_.unfinished_work, [](double a, double b) { return a + b; },
      name);
}

std::unique_ptr<SettableGaugeMetric>
PrometheusMetricsProvider::NewLongestRunningProcessorSecondsMetric(
    absl::string_view name) {
  return NewPart(
      families_.longest_running_processor,
      [](double a, double b) { return std::max(a, b); }, name);
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

std::unique_ptr<SettableGaugeMetric> PrometheusMetricsProvider::NewPart(
    prometheus::Family<prometheus::Gauge>* family,
    internal::CombinedGauge::Combine combine, absl::string_view name) {
  prometheus::Gauge* const gauge = &family->Add(LabelsOf(name));
  MutexLock lock(&mu_);
  return combined_gauges_.try_emplace(gauge, gauge, combine)
      .first->second.NewPart();
}

}  // namespace workqueue
