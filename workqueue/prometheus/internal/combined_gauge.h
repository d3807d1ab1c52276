// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/combined_gauge.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGE_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGE_H_

#include <algorithm>
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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGE_H_
