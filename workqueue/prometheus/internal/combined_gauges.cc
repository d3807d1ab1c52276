// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/combined_gauges.h"

#include <memory>

#include "prometheus/gauge.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/combined_gauge.h"

namespace workqueue {
namespace internal {

using internal::MutexLock;

std::unique_ptr<SettableGaugeMetric> CombinedGauges::NewPart(
    prometheus::Gauge* gauge, CombinedGauge::Combine combine) {
  MutexLock lock(&mu_);
  return gauges_.try_emplace(gauge, gauge, combine).first->second.NewPart();
}

}  // namespace internal
}  // namespace workqueue
