// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/labels.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/metrics.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// CombinedGauges
//
// This class combines the values of several queues or controllers in one gauge.
// It does so for all gauges of a provider. Each queue or controller sets its
// own value. A gauge is removed with its last part, unless it is kept: then it
// shows 0.
//
// Thread-safe. Must outlive the parts.
class CombinedGauges {
 public:
  using Family = prometheus::Family<prometheus::Gauge>;
  using Combine = double (*)(double, double);
  static double Sum(double a, double b) { return a + b; }
  static double Max(double a, double b) { return (std::max)(a, b); }

  CombinedGauges() = default;
  CombinedGauges(const CombinedGauges&) = delete;
  CombinedGauges& operator=(const CombinedGauges&) = delete;

  // Returns the gauge that has `labels` in `family`, and keeps it. `family`
  // must outlive this object, here and below.
  prometheus::Gauge* Keep(Family* family, const prometheus::Labels& labels) {
    MutexLock lock(&mu_);
    prometheus::Gauge* const gauge = &family->Add(labels);
    series_[gauge].kept = true;
    return gauge;
  }

  // Returns the part of one queue or controller in the gauge that has `labels`
  // in `family`. The part's value counts from the first `Set()` until the part
  // is destroyed. `combine` starts with 0, and gets the result so far and the
  // next value. It is the same one in all calls for a gauge, unless a queue in
  // memory has the name of a shared one: then nobody knows what the gauge
  // shows.
  std::unique_ptr<SettableGaugeMetric> NewPart(Family* family,
                                               const prometheus::Labels& labels,
                                               Combine combine) {
    return std::make_unique<Part>(this, family, labels, combine);
  }

 private:
  class Part;

  struct Series {
    IntrusiveList<Part> parts;
    bool kept = false;
  };

  class Part final : public SettableGaugeMetric, public IntrusiveLink<Part> {
   public:
    Part(CombinedGauges* gauges, Family* family,
         const prometheus::Labels& labels, Combine combine)
        : gauges_(gauges), family_(family), combine_(combine) {
      MutexLock lock(&gauges_->mu_);
      gauge_ = &family_->Add(labels);
      gauges_->series_[gauge_].parts.PushBack(this);
    }
    ~Part() override {
      MutexLock lock(&gauges_->mu_);
      Series& series = gauges_->series_[gauge_];
      series.parts.Remove(this);
      if (series.kept || !series.parts.empty()) {
        Show();
      } else {
        gauges_->series_.erase(gauge_);
        family_->Remove(gauge_);
      }
    }

    void Set(double value) override {
      MutexLock lock(&gauges_->mu_);
      value_ = value;
      Show();
    }

   private:
    // Combines all values again. Subtracting an old value from a sum would keep
    // its rounding error. The analysis does not know that the parts have the
    // same gauges_.
    void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gauges_->mu_)
        ABSL_NO_THREAD_SAFETY_ANALYSIS {
      double combined = 0;
      for (const Part* part = gauges_->series_[gauge_].parts.front();
           part != nullptr; part = part->next()) {
        combined = combine_(combined, part->value_);
      }
      gauge_->Set(combined);
    }

    CombinedGauges* const gauges_;
    Family* const family_;
    const Combine combine_;
    prometheus::Gauge* gauge_;
    double value_ ABSL_GUARDED_BY(gauges_->mu_) = 0;
  };

  sync::Mutex mu_;
  std::map<prometheus::Gauge*, Series> series_ ABSL_GUARDED_BY(mu_);
};

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
  sync::Atomic<int64_t> count_{0};
};

// PriorityDepthGauges
//
// This class holds the gauges for the depth of all queues of one name, one
// gauge for each priority. The label `priority` distinguishes the gauges. The
// first `kMaxPriorities` priorities have a gauge each, and keep it. All other
// priorities share one gauge, so that a program whose priorities come from its
// data does not create an unlimited number of time series.
//
// Thread-safe. Must outlive the metrics that it creates.
class PriorityDepthGauges {
 public:
  // controller-runtime has the same limit.
  static constexpr size_t kMaxPriorities = 25;

  // Creates the gauges in `family`, with `labels` and the label `priority`.
  // `family` must outlive this object.
  PriorityDepthGauges(prometheus::Family<prometheus::Gauge>* family,
                      prometheus::Labels labels)
      : family_(family), labels_(std::move(labels)) {}

  PriorityDepthGauges(const PriorityDepthGauges&) = delete;
  PriorityDepthGauges& operator=(const PriorityDepthGauges&) = delete;

  // Returns the metric of one queue. The metric's destructor subtracts the
  // remaining items from the gauges.
  std::unique_ptr<PriorityGaugeMetric> NewMetric() {
    return std::make_unique<Metric>(this);
  }

 private:
  class Metric final : public PriorityGaugeMetric {
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

    // Takes a lock only for the first item of a priority, and for priorities
    // that use the shared gauge.
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
      if (!others_.has_value()) {
        others_.emplace(gauges_->NewGauge("exceeded_cardinality_limit"));
      }
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

    sync::Mutex mu_;
    // The first size_ elements are set, and do not change. Written under mu_.
    std::array<std::unique_ptr<Depth>, kMaxPriorities> depths_;
    sync::Atomic<size_t> size_{0};
    std::optional<GaugeShare> others_ ABSL_GUARDED_BY(mu_);
  };

  // Returns the gauge of `priority`, always the same one, or null if `priority`
  // uses the shared gauge.
  prometheus::Gauge* GaugeOf(int priority) {
    MutexLock lock(&mu_);
    const auto it = gauges_.find(priority);
    if (it != gauges_.end()) return it->second;
    if (gauges_.size() == kMaxPriorities) return nullptr;
    return gauges_.emplace(priority, NewGauge(absl::StrCat(priority)))
        .first->second;
  }

  prometheus::Gauge* NewGauge(const std::string& priority) {
    prometheus::Labels labels = labels_;
    labels.emplace("priority", priority);
    return &family_->Add(labels);
  }

  prometheus::Family<prometheus::Gauge>* const family_;
  const prometheus::Labels labels_;

  sync::Mutex mu_;
  // Not a hash table: a failed allocation would leave Abseil's corrupted.
  std::map<int, prometheus::Gauge*> gauges_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_GAUGES_H_
