// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/shared/internal/open_shared_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_
#define WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/shared/internal/shared_queue_core.h"
#include "workqueue/shared/redis_options.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue {
namespace internal {

// SharedQueueParts
//
// The parts of a `SharedQueue` that do not depend on the type of its items.
struct SharedQueueParts {
  // Those of `SharedQueueOptions`.
  struct Options {
    std::string name;
    RedisOptions redis;
    absl::Duration lease;
    absl::Duration call_timeout;
    RetrySchedule retry_schedule;
    double retries_per_second;
    int64_t retry_burst;
    bool require_durable_server;
    QueueClock clock;
    LogSink* log_sink;
    MetricsProvider* metrics_provider;
    bool clock_is_the_servers;
  };

  // Returns the least delay of this process' next retry.
  absl::Duration NextRetry() {
    return bucket != nullptr ? bucket->Reserve().Delay() : absl::ZeroDuration();
  }

  std::shared_ptr<TokenBucket> bucket;  // null if there is no limit
  std::unique_ptr<SharedQueueCore> core;
};

// Does what `SharedQueue::Create()` does.
absl::StatusOr<std::unique_ptr<SharedQueueParts>> OpenSharedQueue(
    SharedQueueParts::Options options);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_
