// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_
#define WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {

// SharedQueueMetrics
//
// Updates the metrics of one process' part in a shared queue. The depth, the
// age of the oldest item, and the numbers of items that wait, fail and are
// parked are those of the queue, as the engine said them last; all else is this
// process'.
//
// The gauges are made when `SetNumbers()` is called first: until the engine has
// answered, nobody knows how much is in the queue. So a process that cannot
// begin shows no gauges, and only counts its errors.
//
// The core calls it with its lock held. May throw what a metric throws.
class SharedQueueMetrics {
 public:
  // Returns null if the queue has no metrics, as `QueueMetrics::Create()` does.
  static std::unique_ptr<SharedQueueMetrics> Create(absl::string_view name,
                                                    MetricsProvider* provider);

  void OnAdds(int64_t n);
  void OnRetry();
  void OnTake(absl::Duration queued);
  void OnEnd(absl::Duration work);
  void OnRoundTrip(absl::Duration time);
  void OnError();
  void OnExpired(int64_t n);
  void OnDataLoss();
  void SetNumbers(size_t depth, size_t waiting, size_t failing, size_t parked);

  // `total` and `longest` of the items that workers have.
  void SetWorkInProgress(absl::Duration total, absl::Duration longest);
  void SetUnreachable(absl::Duration time);
  void SetOldestQueued(absl::Duration time);
  void SetWrongSettings(size_t n);

 private:
  SharedQueueMetrics(absl::string_view name, MetricsProvider* provider);
  void MakeGauges();

  const std::string name_;
  MetricsProvider* const provider_;
  const std::unique_ptr<CounterMetric> adds_;
  const std::unique_ptr<CounterMetric> retries_;
  const std::unique_ptr<HistogramMetric> latency_;
  const std::unique_ptr<HistogramMetric> work_duration_;
  const std::unique_ptr<HistogramMetric> round_trip_;
  const std::unique_ptr<CounterMetric> errors_;
  const std::unique_ptr<CounterMetric> expired_;
  const std::unique_ptr<CounterMetric> data_losses_;

  bool has_gauges_ = false;
  std::unique_ptr<SettableGaugeMetric> engine_depth_;
  std::unique_ptr<GaugeMetric> depth_;  // if that one is null
  std::unique_ptr<SettableGaugeMetric> unfinished_work_seconds_;
  std::unique_ptr<SettableGaugeMetric> longest_running_processor_seconds_;
  std::unique_ptr<SettableGaugeMetric> oldest_queued_seconds_;
  std::unique_ptr<SettableGaugeMetric> waiting_items_;
  std::unique_ptr<SettableGaugeMetric> failing_items_;
  std::unique_ptr<SettableGaugeMetric> parked_items_;
  std::unique_ptr<SettableGaugeMetric> unreachable_seconds_;
  std::unique_ptr<SettableGaugeMetric> wrong_settings_;
  size_t depth_set_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_
