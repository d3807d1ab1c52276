// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/combined_gauges.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/gauge.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauge.h"

namespace workqueue {
namespace internal {

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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_COMBINED_GAUGES_H_
