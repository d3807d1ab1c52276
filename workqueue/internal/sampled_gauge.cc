// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/sampled_gauge.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace internal {

std::unique_ptr<SampledGauge> SampledGauge::Create(
    absl::string_view name, MetricsProvider* provider, Make make,
    LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
    std::function<std::optional<size_t>()> sample) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  std::unique_ptr<SettableGaugeMetric> gauge = (provider->*make)(name);
  if (gauge == nullptr) return nullptr;
  return absl::WrapUnique(new SampledGauge(name, std::move(gauge), log_sink,
                                           std::move(loop), std::move(sample)));
}

SampledGauge::SampledGauge(absl::string_view name,
                           std::unique_ptr<SettableGaugeMetric> gauge,
                           LogSink* log_sink, std::shared_ptr<WaitingLoop> loop,
                           std::function<std::optional<size_t>()> sample)
    : gauge_(std::move(gauge)),
      sample_(std::move(sample)),
      errors_("queue", name, log_sink, loop->clock()),
      ticker_(loop, loop->clock(), QueueMetrics::UpdatePeriod(),
              [this] { Report(); }) {}

void SampledGauge::Report() {
  errors_.Try([] { return "a gauge cannot be set"; },
              [this] {
                const std::optional<size_t> value = sample_();
                if (value.has_value()) {
                  gauge_->Set(static_cast<double>(*value));
                }
              });
}

}  // namespace internal
}  // namespace workqueue
