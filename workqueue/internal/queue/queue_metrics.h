// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/queue_metrics.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_QUEUE_METRICS_H_
#define WORKQUEUE_INTERNAL_QUEUE_QUEUE_METRICS_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/queue/compact_time.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// ItemTimes
//
// What the metrics have to remember of an item in a queue.
struct ItemTimes {
  CompactTime added;    // since it was last handed out
  CompactTime started;  // handed out
};

// QueueMetrics
//
// Turns what happens in a `Queue` into the metrics of a provider. The queue
// calls it with its lock held.
class QueueMetrics {
 public:
  // How often the metrics of work in progress are set.
  static constexpr absl::Duration UpdatePeriod() {
    return absl::Milliseconds(500);
  }

  // Returns the metrics of the queue `name` from `provider` or, if that is
  // null, from the default provider; null if there is nothing to report to. A
  // queue that has priorities reports its depth by them, if the provider can.
  static std::unique_ptr<QueueMetrics> Create(absl::string_view name,
                                              MetricsProvider* provider,
                                              Clock* clock,
                                              bool has_priorities);

  // An item is added, and handed out. If a metric throws, it is neither.
  void OnAdd(ItemTimes& times, int priority);
  void OnGet(ItemTimes& times, int priority);

  // The priority of an item that has been added and not handed out changes.
  void OnPriorityChange(int from, int to);

  // An item that was handed out is queued again unprocessed, at `priority`. It
  // was queued already, at `added_priority`, if it was added meanwhile.
  void OnGiveBack(const ItemTimes& times, int priority,
                  std::optional<int> added_priority);

  // The processing of an item has ended, even if a metric throws.
  void OnDone(const ItemTimes& times);

  // Reports on the work in progress; `oldest` is the times of the item that has
  // been so longest, null if none is.
  void UpdateUnfinishedWork(const ItemTimes* oldest);

 private:
  // The item of `times` is no longer in progress.
  void EndProgress(const ItemTimes& times);

  QueueMetrics(absl::string_view name, MetricsProvider* provider, Clock* clock,
               bool has_priorities);

  Clock* const clock_;
  const absl::Time epoch_;
  // One of the two, or none.
  const std::unique_ptr<PriorityGaugeMetric> depth_by_priority_;
  const std::unique_ptr<GaugeMetric> depth_;
  const std::unique_ptr<CounterMetric> adds_;
  const std::unique_ptr<HistogramMetric> latency_;
  const std::unique_ptr<HistogramMetric> work_duration_;
  const std::unique_ptr<SettableGaugeMetric> unfinished_work_seconds_;
  const std::unique_ptr<SettableGaugeMetric> longest_running_processor_seconds_;

  // The items in progress, and the sum of their starts, since epoch_. The sum
  // of their ages follows from these without a walk over them.
  size_t in_progress_ = 0;
  absl::Duration starts_;
};

// Returns the metric of retries for the queue `name`, as
// `QueueMetrics::Create`; null if there is nothing to report to.
std::unique_ptr<CounterMetric> NewRetriesMetric(absl::string_view name,
                                                MetricsProvider* provider);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_QUEUE_METRICS_H_
