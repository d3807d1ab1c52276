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
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// CombinedGauge
//
// A gauge that several queues or controllers set, each to a value of its own.
// It shows these values combined, and 0 if there are none.
//
// Thread-safe. Must outlive its parts.
class CombinedGauge {
 public:
  using Combine = double (*)(double, double);
  static double Sum(double a, double b) { return a + b; }
  static double Max(double a, double b) { return std::max(a, b); }

  // Shows in `gauge`, which must outlive this, what `combine` makes of 0 and
  // the values, one after the other.
  CombinedGauge(prometheus::Gauge* gauge, Combine combine)
      : gauge_(gauge), combine_(combine) {}

  CombinedGauge(const CombinedGauge&) = delete;
  CombinedGauge& operator=(const CombinedGauge&) = delete;

  // Returns what one of them sets. Its value counts from the first `Set()`
  // until it is destroyed.
  std::unique_ptr<SettableGaugeMetric> NewPart();

 private:
  class Part;

  // Combines the values anew: to take the old one out of a sum would leave what
  // has been lost by rounding.
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  prometheus::Gauge* const gauge_;
  const Combine combine_;

  absl::Mutex mu_;
  internal::IntrusiveList<Part> parts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGE_H_
