// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/queue_metrics.h"

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "examples/mirror/latency_histogram.h"
#include "workqueue/metrics.h"

namespace mirror {
namespace {

class Counter final : public workqueue::CounterMetric {
 public:
  explicit Counter(std::atomic<int64_t>* count) : count_(*count) {}
  void Inc() override { ++count_; }

 private:
  std::atomic<int64_t>& count_;
};

class Latency final : public workqueue::HistogramMetric {
 public:
  explicit Latency(LatencyHistogram* histogram) : histogram_(*histogram) {}
  void Observe(double seconds) override { histogram_.Observe(seconds); }

 private:
  LatencyHistogram& histogram_;
};

// Counts observations, whatever their values.
class ObservationCounter final : public workqueue::HistogramMetric {
 public:
  explicit ObservationCounter(std::atomic<int64_t>* count) : count_(*count) {}
  void Observe(double) override { ++count_; }

 private:
  std::atomic<int64_t>& count_;
};

}  // namespace

std::unique_ptr<workqueue::CounterMetric> QueueMetrics::NewAddsMetric(
    absl::string_view) {
  return std::make_unique<Counter>(&adds_);
}

std::unique_ptr<workqueue::CounterMetric> QueueMetrics::NewRetriesMetric(
    absl::string_view) {
  return std::make_unique<Counter>(&retries_);
}

std::unique_ptr<workqueue::HistogramMetric> QueueMetrics::NewLatencyMetric(
    absl::string_view) {
  return std::make_unique<Latency>(&latency_);
}

std::unique_ptr<workqueue::HistogramMetric> QueueMetrics::NewWorkDurationMetric(
    absl::string_view) {
  return std::make_unique<ObservationCounter>(&done_);
}

}  // namespace mirror
