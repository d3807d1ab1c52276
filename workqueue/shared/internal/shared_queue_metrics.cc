// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/shared_queue_metrics.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {
namespace {

void Observe(HistogramMetric* metric, absl::Duration d) {
  if (metric != nullptr) metric->Observe(absl::ToDoubleSeconds(d));
}

void Count(CounterMetric* metric, int64_t n) {
  for (; metric != nullptr && n > 0; --n) metric->Inc();
}

void Set(SettableGaugeMetric* metric, double value) {
  if (metric != nullptr) metric->Set(value);
}

}  // namespace

std::unique_ptr<SharedQueueMetrics> SharedQueueMetrics::Create(
    absl::string_view name, MetricsProvider* provider) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  return absl::WrapUnique(new SharedQueueMetrics(name, provider));
}

SharedQueueMetrics::SharedQueueMetrics(absl::string_view name,
                                       MetricsProvider* provider)
    : name_(name),
      provider_(provider),
      adds_(provider->NewAddsMetric(name)),
      retries_(provider->NewRetriesMetric(name)),
      latency_(provider->NewLatencyMetric(name)),
      work_duration_(provider->NewWorkDurationMetric(name)),
      round_trip_(provider->NewEngineRoundTripMetric(name)),
      errors_(provider->NewEngineErrorsMetric(name)),
      expired_(provider->NewExpiredLeasesMetric(name)),
      data_losses_(provider->NewEngineDataLossesMetric(name)) {}

void SharedQueueMetrics::MakeGauges() {
  engine_depth_ = provider_->NewEngineDepthMetric(name_);
  if (engine_depth_ == nullptr) depth_ = provider_->NewDepthMetric(name_);
  unfinished_work_seconds_ = provider_->NewUnfinishedWorkSecondsMetric(name_);
  longest_running_processor_seconds_ =
      provider_->NewLongestRunningProcessorSecondsMetric(name_);
  oldest_queued_seconds_ = provider_->NewOldestQueuedSecondsMetric(name_);
  waiting_items_ = provider_->NewEngineWaitingItemsMetric(name_);
  failing_items_ = provider_->NewEngineFailingItemsMetric(name_);
  parked_items_ = provider_->NewEngineParkedItemsMetric(name_);
  unreachable_seconds_ = provider_->NewEngineUnreachableSecondsMetric(name_);
  wrong_settings_ = provider_->NewEngineWrongSettingsMetric(name_);
  has_gauges_ = true;
}

void SharedQueueMetrics::OnAdds(int64_t n) { Count(adds_.get(), n); }

void SharedQueueMetrics::OnRetry() { Count(retries_.get(), 1); }

void SharedQueueMetrics::OnTake(absl::Duration queued) {
  Observe(latency_.get(), queued);
}

void SharedQueueMetrics::OnEnd(absl::Duration work) {
  Observe(work_duration_.get(), work);
}

void SharedQueueMetrics::OnRoundTrip(absl::Duration time) {
  Observe(round_trip_.get(), time);
}

void SharedQueueMetrics::OnError() { Count(errors_.get(), 1); }

void SharedQueueMetrics::OnExpired(int64_t n) { Count(expired_.get(), n); }

void SharedQueueMetrics::OnDataLoss() { Count(data_losses_.get(), 1); }

void SharedQueueMetrics::SetNumbers(size_t depth, size_t waiting,
                                    size_t failing, size_t parked) {
  if (!has_gauges_) MakeGauges();
  if (depth_ != nullptr) {
    for (; depth_set_ < depth; ++depth_set_) depth_->Inc();
    for (; depth_set_ > depth; --depth_set_) depth_->Dec();
  }
  Set(engine_depth_.get(), static_cast<double>(depth));
  Set(waiting_items_.get(), static_cast<double>(waiting));
  Set(failing_items_.get(), static_cast<double>(failing));
  Set(parked_items_.get(), static_cast<double>(parked));
}

void SharedQueueMetrics::SetWorkInProgress(absl::Duration total,
                                           absl::Duration longest) {
  Set(unfinished_work_seconds_.get(), absl::ToDoubleSeconds(total));
  Set(longest_running_processor_seconds_.get(), absl::ToDoubleSeconds(longest));
}

void SharedQueueMetrics::SetUnreachable(absl::Duration time) {
  Set(unreachable_seconds_.get(), absl::ToDoubleSeconds(time));
}

void SharedQueueMetrics::SetOldestQueued(absl::Duration time) {
  Set(oldest_queued_seconds_.get(), absl::ToDoubleSeconds(time));
}

void SharedQueueMetrics::SetWrongSettings(size_t n) {
  Set(wrong_settings_.get(), static_cast<double>(n));
}

}  // namespace workqueue::internal
