// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/queue_metrics.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace mirror {
namespace {

class Counter final : public workqueue::CounterMetric {
 public:
  Counter(std::atomic<int64_t>* count,
          std::unique_ptr<workqueue::CounterMetric> next)
      : count_(*count), next_(std::move(next)) {}

  void Inc() override {
    ++count_;
    if (next_ != nullptr) next_->Inc();
  }

 private:
  std::atomic<int64_t>& count_;
  const std::unique_ptr<workqueue::CounterMetric> next_;
};

class Observer final : public workqueue::HistogramMetric {
 public:
  Observer(std::function<void(double)> observe,
           std::unique_ptr<workqueue::HistogramMetric> next)
      : observe_(std::move(observe)), next_(std::move(next)) {}

  void Observe(double value) override {
    observe_(value);
    if (next_ != nullptr) next_->Observe(value);
  }

 private:
  const std::function<void(double)> observe_;
  const std::unique_ptr<workqueue::HistogramMetric> next_;
};

}  // namespace

std::unique_ptr<workqueue::CounterMetric> QueueMetrics::NewAddsMetric(
    absl::string_view name) {
  return std::make_unique<Counter>(
      &adds_, next_ ? next_->NewAddsMetric(name) : nullptr);
}

std::unique_ptr<workqueue::CounterMetric> QueueMetrics::NewRetriesMetric(
    absl::string_view name) {
  return std::make_unique<Counter>(
      &retries_, next_ ? next_->NewRetriesMetric(name) : nullptr);
}

std::unique_ptr<workqueue::HistogramMetric> QueueMetrics::NewLatencyMetric(
    absl::string_view name) {
  return std::make_unique<Observer>(
      [this](double seconds) { latency_.Observe(seconds); },
      next_ ? next_->NewLatencyMetric(name) : nullptr);
}

std::unique_ptr<workqueue::HistogramMetric> QueueMetrics::NewWorkDurationMetric(
    absl::string_view name) {
  return std::make_unique<Observer>(
      [this](double) { ++done_; },
      next_ ? next_->NewWorkDurationMetric(name) : nullptr);
}

}  // namespace mirror
