// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The queues that many tests use, compiled once. Compiling them takes most of a
// test's compile time otherwise. `cc_test(instances = ...)` includes this
// header before the test's sources, which do not mention it.

#ifndef WORKQUEUE_TEST_WORKQUEUE_INSTANCES_H_
#define WORKQUEUE_TEST_WORKQUEUE_INSTANCES_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "test/base/fragile_key.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/internal/fair_turns.h"
#include "workqueue/internal/priority_order.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_order.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"

// Instantiates all queues of items of type `T`. `...` are `Hash` and `Eq`.
// `linkage` is `extern` for a declaration, and otherwise empty.
#define WORKQUEUE_TEST_INSTANCES_OF(linkage, T, ...)                        \
  linkage template class internal::QueueCore<T, internal::QueueOrder<T>,    \
                                             __VA_ARGS__>;                  \
  linkage template class Queue<T, __VA_ARGS__>;                             \
  linkage template class DelayingQueue<T, __VA_ARGS__>;                     \
  linkage template class RateLimitingQueue<T, __VA_ARGS__>;                 \
  linkage template class internal::QueueCore<T, internal::PriorityOrder<T>, \
                                             __VA_ARGS__>;                  \
  linkage template class PriorityQueue<T, __VA_ARGS__>

#define WORKQUEUE_TEST_INSTANCES_OF_INT(linkage)                              \
  WORKQUEUE_TEST_INSTANCES_OF(linkage, int, absl::flat_hash_set<int>::hasher, \
                              absl::flat_hash_set<int>::key_equal)
#define WORKQUEUE_TEST_INSTANCES_OF_POINTER(linkage)     \
  WORKQUEUE_TEST_INSTANCES_OF(                           \
      linkage, std::shared_ptr<int>,                     \
      absl::flat_hash_set<std::shared_ptr<int>>::hasher, \
      absl::flat_hash_set<std::shared_ptr<int>>::key_equal)
#define WORKQUEUE_TEST_INSTANCES_OF_FRAGILE_KEY(linkage) \
  WORKQUEUE_TEST_INSTANCES_OF(linkage, FragileKey, FragileHash, FragileEq)

namespace workqueue {

WORKQUEUE_TEST_INSTANCES_OF_INT(extern);
WORKQUEUE_TEST_INSTANCES_OF_POINTER(extern);
WORKQUEUE_TEST_INSTANCES_OF_FRAGILE_KEY(extern);

extern template class DelayQueue<int>;

extern template class internal::FairTurns<int>;
extern template class internal::FairTurns<std::string>;
extern template class FairOrdering<int, int>;
extern template class FairOrdering<std::string, std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_INSTANCES_H_
