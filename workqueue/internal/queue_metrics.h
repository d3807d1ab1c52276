// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_QUEUE_METRICS_H_
#define WORKQUEUE_INTERNAL_QUEUE_METRICS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {

// ItemTimes
//
// The times of an item that the metrics need.
struct ItemTimes {
  CompactTime added;    // when the item last became dirty
  CompactTime started;  // when the item was last handed out
};

// QueueMetrics
//
// Updates the metrics of a queue in memory. The queue calls it with the lock
// held.
class QueueMetrics {
 public:
  // Makes the metrics of the queue `name` with `provider` or, if `provider` is
  // null, with the default provider. Returns null if `name` is empty or there
  // is no provider. If `has_priorities`, reports the depth by priority if the
  // provider has that metric.
  static std::unique_ptr<QueueMetrics> Create(absl::string_view name,
                                              MetricsProvider* provider,
                                              Clock* clock,
                                              bool has_priorities);

  ~QueueMetrics();

  // Called before an item is added, and before it is handed out. If a metric
  // throws, the queue must not hand the item out, and must not add it unless
  // that is `certain`: then it counts as queued all the same. The caller has
  // set the time of an add.
  void OnAdd(const ItemTimes& times, int priority, bool certain);
  void OnGet(ItemTimes& times, int priority);

  // Called if the item of an `OnAdd()` has not been added after all. It counts
  // as queued no longer, even if a metric throws.
  void OnNotAdded(const ItemTimes& times, int priority);

  // Called before the priority of an item that has been added and not yet
  // handed out changes. If a metric throws, the priority must not change unless
  // that is `certain`.
  void OnPriorityChange(int from, int to, bool certain);

  // Called when an item that was handed out is queued again at `priority`,
  // unprocessed. If the item has been added since it was handed out,
  // `added_priority` is the priority of that add. The item counts as queued
  // even if a metric throws.
  void OnGiveBack(const ItemTimes& times, int priority,
                  std::optional<int> added_priority);

  // Called when the processing of an item ends. If a metric throws, the
  // processing counts as ended nevertheless.
  void OnDone(const ItemTimes& times);

  // Reports the age of the oldest queued item; zero if none is queued.
  void UpdateOldestQueued();

  // Reports the work in progress. `oldest` points to the times of the item that
  // has been processed longest; null if no item is being processed.
  void UpdateUnfinishedWork(const ItemTimes* oldest);

 private:
  class AddTimes;

  // Count the item of `times` for the age of the oldest queued item, or no
  // longer. Only `InsertTime()` throws (`std::bad_alloc`).
  void InsertTime(const ItemTimes& times);
  void EraseTime(const ItemTimes& times);

  void IncDepth(int priority);
  void DecDepth(int priority);

  // Removes the item of `times` from the items in progress.
  void EndProgress(const ItemTimes& times);

  QueueMetrics(absl::string_view name, MetricsProvider* provider, Clock* clock,
               bool has_priorities);

  Clock* const clock_;
  // At most one of these two is not null.
  const std::unique_ptr<PriorityGaugeMetric> depth_by_priority_;
  const std::unique_ptr<GaugeMetric> depth_;
  const std::unique_ptr<CounterMetric> adds_;
  const std::unique_ptr<HistogramMetric> latency_;
  const std::unique_ptr<HistogramMetric> work_duration_;
  const std::unique_ptr<SettableGaugeMetric> unfinished_work_seconds_;
  const std::unique_ptr<SettableGaugeMetric> longest_running_processor_seconds_;
  const std::unique_ptr<SettableGaugeMetric> oldest_queued_seconds_;

  // Null without oldest_queued_seconds_.
  const std::unique_ptr<AddTimes> queued_;

  // The number of items in progress, and the sum of the times from epoch_ to
  // their starts. These two give the sum of the items' ages without a visit to
  // each item.
  size_t in_progress_ = 0;
  absl::Duration starts_;
  // The start of the latest item that began while no other was in progress.
  absl::Time epoch_;
};

// Report a time, in seconds. It is not negative, even if the clock has gone
// back. The metric may be null.
inline void Observe(const std::unique_ptr<HistogramMetric>& metric,
                    absl::Duration time) {
  if (metric == nullptr) return;
  metric->Observe(
      absl::ToDoubleSeconds((std::max)(time, absl::ZeroDuration())));
}
inline void Set(const std::unique_ptr<SettableGaugeMetric>& metric,
                absl::Duration time) {
  if (metric == nullptr) return;
  metric->Set(absl::ToDoubleSeconds((std::max)(time, absl::ZeroDuration())));
}

// Returns the provider of the metrics of the queue `name`, which is `provider`
// or, if `provider` is null, the default provider. Returns null if the queue
// has no metrics.
MetricsProvider* ProviderFor(absl::string_view name, MetricsProvider* provider);

// Makes the metric of retries of the queue `name`. Chooses the provider as
// `QueueMetrics::Create()` does. Returns null if `name` is empty, if there is
// no provider, or if the provider does not have this metric.
std::unique_ptr<CounterMetric> NewRetriesMetric(absl::string_view name,
                                                MetricsProvider* provider);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_QUEUE_METRICS_H_
