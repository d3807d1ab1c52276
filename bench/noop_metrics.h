// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/noop_metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_NOOP_METRICS_H_
#define WORKQUEUE_BENCH_NOOP_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"

namespace workqueue {

// NoopMetric
//
// This class is a metric of any kind that does nothing.
class NoopMetric final : public CounterMetric,
                         public GaugeMetric,
                         public PriorityGaugeMetric,
                         public SettableGaugeMetric,
                         public HistogramMetric {
 public:
  void Inc() override {}
  void Dec() override {}
  void Inc(int) override {}
  void Dec(int) override {}
  void Set(double) override {}
  void Observe(double) override {}
};

// NoopMetrics
//
// This class provides all metrics of a queue in memory. They do nothing, so a
// benchmark with them measures the work that a queue does for metrics.
class NoopMetrics final : public MetricsProvider {
 public:
  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewAddsMetric(absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewFailingItemsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewRetriesMetric(absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
};

// NoopControllerMetrics
//
// This class does the same for a controller.
class NoopControllerMetrics final : public ControllerMetricsProvider {
 public:
  std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view, absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewReconcileRetriesMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<GaugeMetric> NewActiveRetriesMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<GaugeMetric> NewRunningSourcesMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<GaugeMetric> NewUnhealthySourcesMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<GaugeMetric> NewParkedItemsMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
  std::unique_ptr<CounterMetric> NewParkedTotalMetric(
      absl::string_view) override {
    return std::make_unique<NoopMetric>();
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_NOOP_METRICS_H_
