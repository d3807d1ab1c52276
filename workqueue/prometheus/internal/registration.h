// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/prometheus/internal/registration.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_PROMETHEUS_INTERNAL_REGISTRATION_H_
#define WORKQUEUE_PROMETHEUS_INTERNAL_REGISTRATION_H_

#include <memory>

#include "absl/status/status.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "workqueue/metrics.h"

namespace workqueue {
namespace internal {

// Registration
//
// This class finds the metric families of a provider in a registry, and creates
// the missing ones.
class Registration {
 public:
  // If `registry` is null, `status()` is an error.
  explicit Registration(prometheus::Registry* registry);

  // Each returns the family named `name`, or null after an error.
  prometheus::Family<prometheus::Counter>* AddCounter(const char* name,
                                                      const char* help);
  prometheus::Family<prometheus::Gauge>* AddGauge(const char* name,
                                                  const char* help);
  prometheus::Family<prometheus::Histogram>* AddHistogram(const char* name,
                                                          const char* help);

  // The first error. After it, the functions above add nothing.
  const absl::Status& status() const { return status_; }

 private:
  template <typename Metric, typename Builder>
  prometheus::Family<Metric>* Add(Builder builder, const char* name,
                                  const char* help);

  prometheus::Registry* const registry_;
  absl::Status status_;
};

// Each returns a metric that forwards its calls to a metric of prometheus-cpp,
// which must outlive the returned one.
std::unique_ptr<CounterMetric> Wrap(prometheus::Counter& counter);
std::unique_ptr<HistogramMetric> Wrap(prometheus::Histogram& histogram);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_PROMETHEUS_INTERNAL_REGISTRATION_H_
