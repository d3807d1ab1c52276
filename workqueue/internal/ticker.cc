// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/ticker.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "workqueue/base/error_log.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

std::unique_ptr<Ticker> SampleGauge(
    absl::string_view name, MetricsProvider* provider, MakeGauge make,
    LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
    std::function<std::optional<size_t>()> sample) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  const std::shared_ptr<SettableGaugeMetric> gauge = (provider->*make)(name);
  if (gauge == nullptr) return nullptr;
  Clock* const clock = loop->clock();
  const auto errors =
      std::make_shared<ErrorLog>("queue", name, log_sink, clock);
  const auto set_gauge = [gauge, sample = std::move(sample)] {
    const std::optional<size_t> value = sample();
    if (value.has_value()) gauge->Set(static_cast<double>(*value));
  };
  return std::make_unique<Ticker>(
      std::move(loop), clock, QueueMetrics::UpdatePeriod(),
      [errors, set_gauge] {
        errors->Try([] { return "a gauge cannot be set"; },
                    [&set_gauge] { set_gauge(); });
      });
}

}  // namespace workqueue::internal
