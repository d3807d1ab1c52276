// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Providers that override only what a provider must, and want no metric. Tests
// derive from them.

#ifndef WORKQUEUE_TEST_WORKQUEUE_LEAST_METRICS_H_
#define WORKQUEUE_TEST_WORKQUEUE_LEAST_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/metrics.h"

namespace workqueue {

class LeastMetrics : public MetricsProvider {
 public:
  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewAddsMetric(absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<HistogramMetric> NewLatencyMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewRetriesMetric(absl::string_view) override {
    return nullptr;
  }
};

class LeastControllerMetrics : public ControllerMetricsProvider {
 public:
  std::unique_ptr<CounterMetric> NewReconcileTotalMetric(
      absl::string_view, absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewReconcileErrorsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewTerminalReconcileErrorsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewReconcilePanicsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<CounterMetric> NewReconcileTimeoutsMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<HistogramMetric> NewReconcileTimeMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<SettableGaugeMetric> NewMaxConcurrentReconcilesMetric(
      absl::string_view) override {
    return nullptr;
  }
  std::unique_ptr<GaugeMetric> NewActiveWorkersMetric(
      absl::string_view) override {
    return nullptr;
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_LEAST_METRICS_H_
