// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/labels.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// CombinedGauges
//
// This class combines the values of several queues or controllers in one gauge.
// It does so for all gauges of a provider. Each queue or controller sets its
// own value. Without values a gauge shows 0.
//
// Thread-safe. Must outlive the parts.
class CombinedGauges {
 public:
  using Combine = double (*)(double, double);
  static double Sum(double a, double b) { return a + b; }
  static double Max(double a, double b) { return std::max(a, b); }

  CombinedGauges() = default;
  CombinedGauges(const CombinedGauges&) = delete;
  CombinedGauges& operator=(const CombinedGauges&) = delete;

  // Returns the part of one queue or controller in `gauge`, which must outlive
  // this object. The part's value counts from the first `Set()` until the part
  // is destroyed. `combine` starts with 0, and gets the result so far and the
  // next value. It is the same one in all calls for `gauge`.
  std::unique_ptr<SettableGaugeMetric> NewPart(prometheus::Gauge* gauge,
                                               Combine combine);

 private:
  class Part;

  absl::Mutex mu_;
  // The parts of each gauge.
  std::map<prometheus::Gauge*, IntrusiveList<Part>> parts_ ABSL_GUARDED_BY(mu_);
};

// GaugeShare
//
// This class is the share of one queue or controller in a gauge that shows the
// sum of several. The destructor subtracts the rest of the share from the
// gauge.
//
// Thread-safe.
class GaugeShare final : public GaugeMetric {
 public:
  // Counts in `gauge`, which must outlive this object.
  explicit GaugeShare(prometheus::Gauge* gauge) : gauge_(gauge) {}
  ~GaugeShare() override { gauge_->Decrement(static_cast<double>(count_)); }

  GaugeShare(const GaugeShare&) = delete;
  GaugeShare& operator=(const GaugeShare&) = delete;

  void Inc() override {
    gauge_->Increment();
    count_.fetch_add(1);
  }
  void Dec() override {
    gauge_->Decrement();
    count_.fetch_sub(1);
  }

 private:
  prometheus::Gauge* const gauge_;
  std::atomic<int64_t> count_{0};
};

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

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_
