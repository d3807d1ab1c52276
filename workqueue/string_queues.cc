// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The queues of strings, which most users have. They are instantiated here, so
// that a user's compiler need not do it.

#include <string>

#include "absl/container/flat_hash_set.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/internal/priority_order.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_order.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {

template class internal::QueueCore<std::string,
                                   internal::QueueOrder<std::string>,
                                   absl::flat_hash_set<std::string>::hasher,
                                   absl::flat_hash_set<std::string>::key_equal>;
template class Queue<std::string>;
template class DelayingQueue<std::string>;
template class RateLimitingQueue<std::string>;

template class internal::QueueCore<std::string,
                                   internal::PriorityOrder<std::string>,
                                   absl::flat_hash_set<std::string>::hasher,
                                   absl::flat_hash_set<std::string>::key_equal>;
template class PriorityQueue<std::string>;

}  // namespace workqueue
