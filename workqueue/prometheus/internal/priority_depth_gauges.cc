// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/priority_depth_gauges.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/mutex_lock.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/labels.h"
#include "workqueue/metrics.h"
#include "workqueue/prometheus/internal/gauge_share.h"

namespace workqueue {
namespace internal {

using ::workqueue_internal::MutexLock;

class PriorityDepthGauges::Metric final : public PriorityGaugeMetric {
 public:
  explicit Metric(PriorityDepthGauges* gauges) : gauges_(gauges) {}

  void Inc(int priority) override { DepthOf(priority)->Inc(); }
  void Dec(int priority) override { DepthOf(priority)->Dec(); }

 private:
  GaugeShare* DepthOf(int priority) {
    prometheus::Gauge* const gauge = gauges_->GaugeOf(priority);
    MutexLock lock(&mu_);
    return &depths_.try_emplace(gauge, gauge).first->second;
  }

  PriorityDepthGauges* const gauges_;

  absl::Mutex mu_;
  std::map<prometheus::Gauge*, GaugeShare> depths_ ABSL_GUARDED_BY(mu_);
};

PriorityDepthGauges::PriorityDepthGauges(
    prometheus::Family<prometheus::Gauge>* family, prometheus::Labels labels)
    : family_(family), labels_(std::move(labels)) {}

std::unique_ptr<PriorityGaugeMetric> PriorityDepthGauges::NewMetric() {
  return std::make_unique<Metric>(this);
}

prometheus::Gauge* PriorityDepthGauges::GaugeOf(int priority) {
  MutexLock lock(&mu_);
  const auto it = gauges_.find(priority);
  if (it != gauges_.end()) return it->second;
  if (gauges_.size() < kMaxPriorities) {
    return gauges_.emplace(priority, NewGauge(absl::StrCat(priority)))
        .first->second;
  }
  if (others_ == nullptr) others_ = NewGauge("exceeded_cardinality_limit");
  return others_;
}

prometheus::Gauge* PriorityDepthGauges::NewGauge(const std::string& priority) {
  prometheus::Labels labels = labels_;
  labels.emplace("priority", priority);
  return &family_->Add(labels);
}

}  // namespace internal
}  // namespace workqueue
