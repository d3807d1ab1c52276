// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/wrap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_WRAP_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_WRAP_H_

#include <memory>

#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// Each returns a metric that forwards its calls to a metric of prometheus-cpp,
// which must outlive the returned one.
std::unique_ptr<CounterMetric> Wrap(prometheus::Counter& counter);
std::unique_ptr<HistogramMetric> Wrap(prometheus::Histogram& histogram);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_WRAP_H_
