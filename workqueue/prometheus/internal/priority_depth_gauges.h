// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/priority_depth_gauges.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_PRIORITY_DEPTH_GAUGES_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_PRIORITY_DEPTH_GAUGES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/labels.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// PriorityDepthGauges
//
// The gauges in which the queues of one name count their items, one for each
// priority, told apart by the label `priority`. A program that takes its
// priorities from its data must not fill its monitoring: the first
// `kMaxPriorities` have a gauge of their own, which they keep, and all others
// share one.
//
// Thread-safe. Must outlive the metrics that it makes.
class PriorityDepthGauges {
 public:
  // As many as controller-runtime has.
  static constexpr size_t kMaxPriorities = 25;

  // Makes the gauges in `family`, which must outlive this, with `labels` and
  // that of the priority.
  PriorityDepthGauges(prometheus::Family<prometheus::Gauge>* family,
                      prometheus::Labels labels);

  PriorityDepthGauges(const PriorityDepthGauges&) = delete;
  PriorityDepthGauges& operator=(const PriorityDepthGauges&) = delete;

  // Returns the metric of one queue. The items that are left in the queue when
  // it goes are taken out of the gauges.
  std::unique_ptr<PriorityGaugeMetric> NewMetric();

 private:
  class Metric;

  // Returns the gauge of `priority`, always the same one; null if it has none
  // of its own.
  prometheus::Gauge* GaugeOf(int priority);

  // Returns the gauge of those that have none of their own.
  prometheus::Gauge* GaugeOfOthers();

  prometheus::Gauge* NewGauge(const std::string& priority);

  prometheus::Family<prometheus::Gauge>* const family_;
  const prometheus::Labels labels_;

  absl::Mutex mu_;
  // No hash table: one of Abseil's is of no use after a failed allocation.
  std::map<int, prometheus::Gauge*> gauges_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_PRIORITY_DEPTH_GAUGES_H_
