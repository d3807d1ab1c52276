// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/wrap.h"

#include <memory>

#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {
namespace {

class PrometheusCounter final : public CounterMetric {
 public:
  explicit PrometheusCounter(prometheus::Counter* counter)
      : counter_(counter) {}
  void Inc() override { counter_->Increment(); }

 private:
  prometheus::Counter* const counter_;
};

class PrometheusHistogram final : public HistogramMetric {
 public:
  explicit PrometheusHistogram(prometheus::Histogram* histogram)
      : histogram_(histogram) {}
  void Observe(double value) override { histogram_->Observe(value); }

 private:
  prometheus::Histogram* const histogram_;
};

}  // namespace

std::unique_ptr<CounterMetric> Wrap(prometheus::Counter& counter) {
  return std::make_unique<PrometheusCounter>(&counter);
}

std::unique_ptr<HistogramMetric> Wrap(prometheus::Histogram& histogram) {
  return std::make_unique<PrometheusHistogram>(&histogram);
}

}  // namespace internal
}  // namespace workqueue
