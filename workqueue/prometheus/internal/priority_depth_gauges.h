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
// This class holds the gauges for the depth of all queues of one name, one
// gauge for each priority. The label `priority` distinguishes the gauges. The
// first `kMaxPriorities` priorities have a gauge each, and keep it. All other
// priorities share one gauge, so that a program whose priorities come from its
// data does not create an unlimited number of time series.
//
// Thread-safe. Must outlive the metrics that it creates.
class PriorityDepthGauges {
 public:
  // controller-runtime has the same limit.
  static constexpr size_t kMaxPriorities = 25;

  // Creates the gauges in `family`, with `labels` and the label `priority`.
  // `family` must outlive this object.
  PriorityDepthGauges(prometheus::Family<prometheus::Gauge>* family,
                      prometheus::Labels labels);

  PriorityDepthGauges(const PriorityDepthGauges&) = delete;
  PriorityDepthGauges& operator=(const PriorityDepthGauges&) = delete;

  // Returns the metric of one queue. The metric's destructor subtracts the
  // remaining items from the gauges.
  std::unique_ptr<PriorityGaugeMetric> NewMetric();

 private:
  class Metric;

  // Returns the gauge of `priority`, always the same one, or null if `priority`
  // uses the shared gauge.
  prometheus::Gauge* GaugeOf(int priority);

  // Returns the shared gauge.
  prometheus::Gauge* GaugeOfOthers();

  prometheus::Gauge* NewGauge(const std::string& priority);

  prometheus::Family<prometheus::Gauge>* const family_;
  const prometheus::Labels labels_;

  absl::Mutex mu_;
  // Not a hash table: a failed allocation would leave Abseil's corrupted.
  std::map<int, prometheus::Gauge*> gauges_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_PRIORITY_DEPTH_GAUGES_H_
