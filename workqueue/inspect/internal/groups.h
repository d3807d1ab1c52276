// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/internal/groups.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INTERNAL_GROUPS_H_
#define WORKQUEUE_INSPECT_INTERNAL_GROUPS_H_

#include <cstddef>

#include "workqueue/inspect/inspection.h"

namespace workqueue {
namespace internal {

// Counts the groups of the first `max_items` queued items of `*inspection`, and
// keeps the ten largest. A group of one item is no group.
void GroupQueued(size_t max_items, Inspection* inspection);

// Keeps the first `max_items` items of each list of `*inspection`.
void KeepFirst(size_t max_items, Inspection* inspection);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INTERNAL_GROUPS_H_
