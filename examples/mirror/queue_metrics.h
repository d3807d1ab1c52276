// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/queue_metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_QUEUE_METRICS_H_
#define WORKQUEUE_EXAMPLES_MIRROR_QUEUE_METRICS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "examples/latency_histogram.h"
#include "workqueue/metrics.h"

namespace mirror {

// QueueMetrics
//
// This class collects the metrics of one queue that the summary shows.
//
// Thread-safe. Must outlive the queue.
class QueueMetrics final : public workqueue::MetricsProvider {
 public:
  // Forwards all metrics to `next` if that is not null. `next` must outlive
  // this object.
  explicit QueueMetrics(workqueue::MetricsProvider* next = nullptr)
      : next_(next) {}

  // Returns the number of items added to the queue. Each of them is handed out
  // once and finished once.
  int64_t adds() const { return adds_; }

  // Returns the number of items finished.
  int64_t done() const { return done_; }

  // Returns the number of items added with a delay.
  int64_t retries() const { return retries_; }

  // Returns how long items waited in the queue for a worker.
  const examples::LatencyHistogram& latency() const { return latency_; }

  std::unique_ptr<workqueue::CounterMetric> NewAddsMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::CounterMetric> NewRetriesMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::HistogramMetric> NewLatencyMetric(
      absl::string_view name) override;
  std::unique_ptr<workqueue::HistogramMetric> NewWorkDurationMetric(
      absl::string_view name) override;

  // These metrics are only forwarded.
  std::unique_ptr<workqueue::GaugeMetric> NewDepthMetric(
      absl::string_view name) override {
    return next_ ? next_->NewDepthMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::PriorityGaugeMetric> NewDepthMetricWithPriority(
      absl::string_view name) override {
    return next_ ? next_->NewDepthMetricWithPriority(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewUnfinishedWorkSecondsMetric(absl::string_view name) override {
    return next_ ? next_->NewUnfinishedWorkSecondsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewLongestRunningProcessorSecondsMetric(absl::string_view name) override {
    return next_ ? next_->NewLongestRunningProcessorSecondsMetric(name)
                 : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewOldestQueuedSecondsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewOldestQueuedSecondsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewWaitingItemsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewFailingItemsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewFailingItemsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::HistogramMetric> NewEngineRoundTripMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineRoundTripMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::CounterMetric> NewEngineErrorsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineErrorsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric>
  NewEngineUnreachableSecondsMetric(absl::string_view name) override {
    return next_ ? next_->NewEngineUnreachableSecondsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewEngineWrongSettingsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineWrongSettingsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewEngineParkedItemsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineParkedItemsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewEngineDepthMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineDepthMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewEngineWaitingItemsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineWaitingItemsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::SettableGaugeMetric> NewEngineFailingItemsMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineFailingItemsMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::CounterMetric> NewEngineDataLossesMetric(
      absl::string_view name) override {
    return next_ ? next_->NewEngineDataLossesMetric(name) : nullptr;
  }
  std::unique_ptr<workqueue::CounterMetric> NewExpiredLeasesMetric(
      absl::string_view name) override {
    return next_ ? next_->NewExpiredLeasesMetric(name) : nullptr;
  }

 private:
  workqueue::MetricsProvider* const next_;
  std::atomic<int64_t> adds_{0};
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> retries_{0};
  examples::LatencyHistogram latency_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_QUEUE_METRICS_H_
