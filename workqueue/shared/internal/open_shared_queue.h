// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_
#define WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/shared_queue_options.h"

namespace workqueue::internal {

// SharedQueueParts
//
// The parts of a `SharedQueue` that do not depend on the type of its items.
struct SharedQueueParts {
  std::unique_ptr<TokenBucket> bucket;  // of this process' retries
  absl::Duration max_retry;             // the longest of the retry schedule
  std::unique_ptr<ByteQueue> queue;
};

// Does what `SharedQueue::Create()` does.
absl::StatusOr<std::unique_ptr<SharedQueueParts>> OpenSharedQueue(
    const SharedQueueOptionsBase& options,
    const std::optional<EngineOperation>& set_groups);

// Returns an `absl::InvalidArgumentError` if `options` have more than a time
// and a priority, which is all that `call` has. It names the field.
absl::Status CheckOnlyTimeAndPriority(absl::string_view call,
                                      const AddOptions& options);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_OPEN_SHARED_QUEUE_H_
