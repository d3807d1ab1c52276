// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/priority_queue.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "workqueue/internal/priority_order.h"
#include "workqueue/internal/queue_core.h"

namespace workqueue {

template class internal::QueueCore<std::string,
                                   internal::PriorityOrder<std::string>,
                                   absl::flat_hash_set<std::string>::hasher,
                                   absl::flat_hash_set<std::string>::key_equal>;
template class PriorityQueue<std::string>;

}  // namespace workqueue
