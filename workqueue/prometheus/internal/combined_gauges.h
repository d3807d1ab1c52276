// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/combined_gauges.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/gauge.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// CombinedGauge
//
// This class combines the values of several queues or controllers in one gauge.
// Each queue or controller sets its own value. Without values the gauge shows
// 0.
//
// Thread-safe. Must outlive its parts.
class CombinedGauge {
 public:
  using Combine = double (*)(double, double);
  static double Sum(double a, double b) { return a + b; }
  static double Max(double a, double b) { return std::max(a, b); }

  // Shows the combined values in `gauge`, which must outlive this object.
  // Starts with 0, and passes the result so far and the next value to
  // `combine`.
  CombinedGauge(prometheus::Gauge* gauge, Combine combine)
      : gauge_(gauge), combine_(combine) {}

  CombinedGauge(const CombinedGauge&) = delete;
  CombinedGauge& operator=(const CombinedGauge&) = delete;

  // Returns the part of one queue or controller. The part's value counts from
  // the first `Set()` until the part is destroyed.
  std::unique_ptr<SettableGaugeMetric> NewPart();

 private:
  class Part;

  // Combines all values again. Subtracting an old value from a sum would keep
  // its rounding error.
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  prometheus::Gauge* const gauge_;
  const Combine combine_;

  absl::Mutex mu_;
  internal::IntrusiveList<Part> parts_ ABSL_GUARDED_BY(mu_);
};

// CombinedGauges
//
// This class holds the `CombinedGauge`s of a provider, one for each gauge.
//
// Thread-safe. Must outlive the parts.
class CombinedGauges {
 public:
  CombinedGauges() = default;
  CombinedGauges(const CombinedGauges&) = delete;
  CombinedGauges& operator=(const CombinedGauges&) = delete;

  // Returns a part of the `CombinedGauge` of `gauge`. `gauge` must outlive this
  // object. The first call for `gauge` determines `combine`.
  std::unique_ptr<SettableGaugeMetric> NewPart(prometheus::Gauge* gauge,
                                               CombinedGauge::Combine combine);

 private:
  absl::Mutex mu_;
  std::map<prometheus::Gauge*, CombinedGauge> gauges_ ABSL_GUARDED_BY(mu_);
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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_
