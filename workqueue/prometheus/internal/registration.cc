// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/prometheus/internal/registration.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

Registration::Registration(prometheus::Registry* registry)
    : registry_(registry) {
  if (registry == nullptr) {
    status_ = absl::InvalidArgumentError("registry must not be null");
  }
}

prometheus::Family<prometheus::Counter>* Registration::AddCounter(
    const char* name, const char* help) {
  return Add<prometheus::Counter>(prometheus::BuildCounter(), name, help);
}

prometheus::Family<prometheus::Gauge>* Registration::AddGauge(
    const char* name, const char* help) {
  return Add<prometheus::Gauge>(prometheus::BuildGauge(), name, help);
}

prometheus::Family<prometheus::Histogram>* Registration::AddHistogram(
    const char* name, const char* help) {
  return Add<prometheus::Histogram>(prometheus::BuildHistogram(), name, help);
}

template <typename Metric, typename Builder>
prometheus::Family<Metric>* Registration::Add(Builder builder, const char* name,
                                              const char* help) {
  if (!status_.ok()) return nullptr;
  prometheus::Family<Metric>* family = nullptr;
  if (!internal::TryCall([&] {
        family = &builder.Name(name).Help(help).Register(*registry_);
      })) {
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "registry must not have other metrics of the name ", name));
  }
  return family;
}

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
