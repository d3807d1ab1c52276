// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/combined_gauges.h"

#include <memory>

#include "absl/base/thread_annotations.h"
#include "prometheus/gauge.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

using internal::IntrusiveLink;
using internal::MutexLock;

class CombinedGauge::Part final : public SettableGaugeMetric,
                                  public IntrusiveLink<Part> {
 public:
  explicit Part(CombinedGauge* whole) : whole_(whole) {
    MutexLock lock(&whole_->mu_);
    whole_->parts_.PushBack(this);
  }
  ~Part() override {
    MutexLock lock(&whole_->mu_);
    whole_->parts_.Remove(this);
    whole_->Show();
  }

  void Set(double value) override {
    MutexLock lock(&whole_->mu_);
    value_ = value;
    whole_->Show();
  }

 private:
  friend class CombinedGauge;

  CombinedGauge* const whole_;
  double value_ ABSL_GUARDED_BY(whole_->mu_) = 0;
};

std::unique_ptr<SettableGaugeMetric> CombinedGauge::NewPart() {
  return std::make_unique<Part>(this);
}

// The analysis does not know that the whole_ of each part is this object.
void CombinedGauge::Show() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  double combined = 0;
  for (const Part* part = parts_.front(); part != nullptr;
       part = part->next()) {
    combined = combine_(combined, part->value_);
  }
  gauge_->Set(combined);
}

using internal::MutexLock;

std::unique_ptr<SettableGaugeMetric> CombinedGauges::NewPart(
    prometheus::Gauge* gauge, CombinedGauge::Combine combine) {
  MutexLock lock(&mu_);
  return gauges_.try_emplace(gauge, gauge, combine).first->second.NewPart();
}

}  // namespace internal
}  // namespace workqueue
