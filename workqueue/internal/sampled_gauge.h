// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/sampled_gauge.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_SAMPLED_GAUGE_H_
#define WORKQUEUE_INTERNAL_SAMPLED_GAUGE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "workqueue/base/error_log.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace internal {

// SampledGauge
//
// Sets a gauge of a queue to the result of a function, every
// `QueueMetrics::UpdatePeriod()`. The call is on the thread of a waiting loop.
// If the function or the gauge throws, the error is logged. The destructor
// blocks until no call is in progress.
class SampledGauge {
 public:
  using Make = std::unique_ptr<SettableGaugeMetric> (MetricsProvider::*)(
      absl::string_view name);

  // Makes the gauge with the provider's function `make`. Chooses the provider
  // as `QueueMetrics::Create()` does. Returns null if there is no gauge.
  // `log_sink` may be null. If `sample` returns nothing, the gauge is not set.
  static std::unique_ptr<SampledGauge> Create(
      absl::string_view name, MetricsProvider* provider, Make make,
      LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
      std::function<std::optional<size_t>()> sample);

 private:
  SampledGauge(absl::string_view name,
               std::unique_ptr<SettableGaugeMetric> gauge, LogSink* log_sink,
               std::shared_ptr<WaitingLoop> loop,
               std::function<std::optional<size_t>()> sample);

  void Report();

  const std::unique_ptr<SettableGaugeMetric> gauge_;
  const std::function<std::optional<size_t>()> sample_;
  ErrorLog errors_;
  Ticker ticker_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_SAMPLED_GAUGE_H_
