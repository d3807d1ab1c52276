// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/gauges.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/labels.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

class CombinedGauges::Part final : public SettableGaugeMetric,
                                   public IntrusiveLink<Part> {
 public:
  Part(CombinedGauges* gauges, prometheus::Gauge* gauge, Combine combine)
      : gauges_(gauges), gauge_(gauge), combine_(combine) {
    MutexLock lock(&gauges_->mu_);
    gauges_->parts_[gauge_].PushBack(this);
  }
  ~Part() override {
    MutexLock lock(&gauges_->mu_);
    gauges_->parts_[gauge_].Remove(this);
    Show();
  }

  void Set(double value) override {
    MutexLock lock(&gauges_->mu_);
    value_ = value;
    Show();
  }

 private:
  // Combines all values again. Subtracting an old value from a sum would keep
  // its rounding error. The analysis does not know that the parts have the same
  // gauges_.
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gauges_->mu_)
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    double combined = 0;
    for (const Part* part = gauges_->parts_[gauge_].front(); part != nullptr;
         part = part->next()) {
      combined = combine_(combined, part->value_);
    }
    gauge_->Set(combined);
  }

  CombinedGauges* const gauges_;
  prometheus::Gauge* const gauge_;
  const Combine combine_;
  double value_ ABSL_GUARDED_BY(gauges_->mu_) = 0;
};

std::unique_ptr<SettableGaugeMetric> CombinedGauges::NewPart(
    prometheus::Gauge* gauge, Combine combine) {
  return std::make_unique<Part>(this, gauge, combine);
}

class PriorityDepthGauges::Metric final : public PriorityGaugeMetric {
 public:
  explicit Metric(PriorityDepthGauges* gauges) : gauges_(gauges) {}

  void Inc(int priority) override { DepthOf(priority)->Inc(); }
  void Dec(int priority) override { DepthOf(priority)->Dec(); }

 private:
  struct Depth {
    Depth(int p, prometheus::Gauge* gauge) : priority(p), share(gauge) {}

    const int priority;
    GaugeShare share;
  };

  // Takes a lock only for the first item of a priority, and for priorities that
  // use the shared gauge.
  GaugeShare* DepthOf(int priority) {
    GaugeShare* depth = Find(priority, size_.load());
    if (depth != nullptr) return depth;
    MutexLock lock(&mu_);
    const size_t size = size_.load();
    depth = Find(priority, size);
    if (depth != nullptr) return depth;
    if (prometheus::Gauge* const gauge = gauges_->GaugeOf(priority)) {
      depths_[size] = std::make_unique<Depth>(priority, gauge);
      size_.store(size + 1);
      return &depths_[size]->share;
    }
    if (!others_.has_value()) others_.emplace(gauges_->GaugeOfOthers());
    return &*others_;
  }

  // Returns the share of `priority` if it is among the first `size`, or null.
  GaugeShare* Find(int priority, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (depths_[i]->priority == priority) return &depths_[i]->share;
    }
    return nullptr;
  }

  PriorityDepthGauges* const gauges_;

  absl::Mutex mu_;
  // The first size_ elements are set, and do not change. Written under mu_.
  std::array<std::unique_ptr<Depth>, kMaxPriorities> depths_;
  std::atomic<size_t> size_{0};
  std::optional<GaugeShare> others_ ABSL_GUARDED_BY(mu_);
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
  if (gauges_.size() == kMaxPriorities) return nullptr;
  return gauges_.emplace(priority, NewGauge(absl::StrCat(priority)))
      .first->second;
}

prometheus::Gauge* PriorityDepthGauges::GaugeOfOthers() {
  return NewGauge("exceeded_cardinality_limit");
}

prometheus::Gauge* PriorityDepthGauges::NewGauge(const std::string& priority) {
  prometheus::Labels labels = labels_;
  labels.emplace("priority", priority);
  return &family_->Add(labels);
}

}  // namespace internal
}  // namespace workqueue
