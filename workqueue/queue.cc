// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/queue.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_order.h"

namespace workqueue {

template class internal::QueueCore<std::string,
                                   internal::QueueOrder<std::string>,
                                   absl::flat_hash_set<std::string>::hasher,
                                   absl::flat_hash_set<std::string>::key_equal>;
template class Queue<std::string>;

}  // namespace workqueue
