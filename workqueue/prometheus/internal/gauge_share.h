// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/gauge_share.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_GAUGE_SHARE_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_GAUGE_SHARE_H_

#include <atomic>
#include <cstdint>

#include "prometheus/gauge.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

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

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_GAUGE_SHARE_H_
