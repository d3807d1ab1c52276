// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/depth_gauge.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_PROMETHEUS_INTERNAL_DEPTH_GAUGE_H_
#define WORKQUEUE_WORKQUEUE_PROMETHEUS_INTERNAL_DEPTH_GAUGE_H_

#include <atomic>
#include <cstdint>

#include "prometheus/gauge.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// DepthGauge
//
// What one queue has in a gauge that several count their items in. The items
// that are left in the queue when it goes are taken out of the gauge.
//
// Thread-safe.
class DepthGauge final : public GaugeMetric {
 public:
  // Counts in `gauge`, which must outlive this.
  explicit DepthGauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  ~DepthGauge() override { gauge_->Decrement(static_cast<double>(items_)); }

  DepthGauge(const DepthGauge&) = delete;
  DepthGauge& operator=(const DepthGauge&) = delete;

  void Inc() override {
    gauge_->Increment();
    items_.fetch_add(1, std::memory_order_relaxed);
  }
  void Dec() override {
    gauge_->Decrement();
    items_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  prometheus::Gauge* const gauge_;
  std::atomic<int64_t> items_{0};
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_PROMETHEUS_INTERNAL_DEPTH_GAUGE_H_
