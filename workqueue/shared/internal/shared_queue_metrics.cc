// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/shared_queue_metrics.h"

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/metrics.h"

namespace workqueue::internal {

std::unique_ptr<SharedQueueMetrics> SharedQueueMetrics::Create(
    absl::string_view name, MetricsProvider* provider) {
  provider = ProviderFor(name, provider);
  if (provider == nullptr) return nullptr;
  return std::make_unique<SharedQueueMetrics>(name, provider);
}

SharedQueueMetrics::SharedQueueMetrics(absl::string_view the_name,
                                       MetricsProvider* the_provider)
    : name(the_name),
      provider(the_provider),
      adds(provider->NewAddsMetric(name)),
      retries(provider->NewRetriesMetric(name)),
      latency(provider->NewLatencyMetric(name)),
      work_duration(provider->NewWorkDurationMetric(name)),
      round_trip(provider->NewEngineRoundTripMetric(name)),
      errors(provider->NewEngineErrorsMetric(name)),
      expired(provider->NewExpiredLeasesMetric(name)),
      data_losses(provider->NewEngineDataLossesMetric(name)) {}

void SharedQueueMetrics::SetNumbers(size_t queued, size_t waiting,
                                    size_t failing, size_t parked) {
  if (!has_gauges) {
    engine_depth = provider->NewEngineDepthMetric(name);
    if (engine_depth == nullptr) depth = provider->NewDepthMetric(name);
    unfinished_work_seconds = provider->NewUnfinishedWorkSecondsMetric(name);
    longest_running_processor_seconds =
        provider->NewLongestRunningProcessorSecondsMetric(name);
    oldest_queued_seconds = provider->NewOldestQueuedSecondsMetric(name);
    waiting_items = provider->NewEngineWaitingItemsMetric(name);
    failing_items = provider->NewEngineFailingItemsMetric(name);
    parked_items = provider->NewEngineParkedItemsMetric(name);
    unreachable_seconds = provider->NewEngineUnreachableSecondsMetric(name);
    wrong_settings = provider->NewEngineWrongSettingsMetric(name);
    has_gauges = true;
  }
  if (depth != nullptr) {
    for (; depth_set < queued; ++depth_set) depth->Inc();
    for (; depth_set > queued; --depth_set) depth->Dec();
  }
  Set(engine_depth, queued);
  Set(waiting_items, waiting);
  Set(failing_items, failing);
  Set(parked_items, parked);
}

}  // namespace workqueue::internal
