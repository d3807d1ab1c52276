// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_
#define WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {

// SharedQueueMetrics
//
// The metrics of one process' part in a shared queue; any may be null. The
// depth, the age of the oldest item, and the numbers of items that wait, fail
// and are parked are those of the queue, as the engine said them last; all else
// is this process'.
//
// The gauges are made when `SetNumbers()` is called first: until the engine has
// answered, nobody knows how much is in the queue. So a process that cannot
// begin shows no gauges, and only counts its errors.
//
// The core uses it with its lock held. May throw what a metric throws.
struct SharedQueueMetrics {
  // Returns null if the queue has no metrics, as `QueueMetrics::Create()` does.
  static std::unique_ptr<SharedQueueMetrics> Create(absl::string_view name,
                                                    MetricsProvider* provider);

  SharedQueueMetrics(absl::string_view name, MetricsProvider* provider);

  void SetNumbers(size_t queued, size_t waiting, size_t failing, size_t parked);

  const std::string name;
  MetricsProvider* const provider;
  const std::unique_ptr<CounterMetric> adds;
  const std::unique_ptr<CounterMetric> retries;
  const std::unique_ptr<HistogramMetric> latency;
  const std::unique_ptr<HistogramMetric> work_duration;
  const std::unique_ptr<HistogramMetric> round_trip;
  const std::unique_ptr<CounterMetric> errors;
  const std::unique_ptr<CounterMetric> expired;
  const std::unique_ptr<CounterMetric> data_losses;

  bool has_gauges = false;
  std::unique_ptr<SettableGaugeMetric> engine_depth;
  std::unique_ptr<GaugeMetric> depth;  // if that one is null
  size_t depth_set = 0;
  std::unique_ptr<SettableGaugeMetric> unfinished_work_seconds;
  std::unique_ptr<SettableGaugeMetric> longest_running_processor_seconds;
  std::unique_ptr<SettableGaugeMetric> oldest_queued_seconds;
  std::unique_ptr<SettableGaugeMetric> waiting_items;
  std::unique_ptr<SettableGaugeMetric> failing_items;
  std::unique_ptr<SettableGaugeMetric> parked_items;
  std::unique_ptr<SettableGaugeMetric> unreachable_seconds;
  std::unique_ptr<SettableGaugeMetric> wrong_settings;
};

inline void Increment(const std::unique_ptr<CounterMetric>& metric,
                      int64_t n = 1) {
  for (; metric != nullptr && n > 0; --n) metric->Inc();
}

inline void Set(const std::unique_ptr<SettableGaugeMetric>& metric, size_t n) {
  if (metric != nullptr) metric->Set(static_cast<double>(n));
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_METRICS_H_
