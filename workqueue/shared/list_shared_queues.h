// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_LIST_SHARED_QUEUES_H_
#define WORKQUEUE_SHARED_LIST_SHARED_QUEUES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue {

// SharedQueueName
//
// The options that a client needs to open a shared queue.
struct SharedQueueName {
  std::string name;
  int partitions = 1;  // of `SharedQueueOptionsBase`
};

// Returns the shared queues of a server, or of all nodes of a cluster, in the
// order of their names. Changes nothing in the server. Looks at each key of the
// database, in steps, so that the server serves its other clients in between.
//
// Takes `timeout` at most. Until then it tries again, as the calls of a
// `SharedQueue` do, while there is no server, or one that is busy or loads its
// data. Returns the errors of `SharedQueue::Create()`, and
// `absl::UnknownError` if an answer did not come in time.
absl::StatusOr<std::vector<SharedQueueName>> ListSharedQueues(
    const RedisOptions& redis, absl::Duration timeout);

// Returns the shared queue `name`, or `absl::NotFoundError` if there is none:
// `SharedQueue::Create()` would make it. Changes nothing in the server. Tries
// again until `timeout`, and returns errors, as `ListSharedQueues()` does.
absl::StatusOr<SharedQueueName> FindSharedQueue(const RedisOptions& redis,
                                                absl::string_view name,
                                                absl::Duration timeout);

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_LIST_SHARED_QUEUES_H_
