// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/internal/list_limits.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INTERNAL_LIST_LIMITS_H_
#define WORKQUEUE_INSPECT_INTERNAL_LIST_LIMITS_H_

#include <cstddef>

namespace workqueue {
namespace internal {

// The numbers of items in each list of a page or a document. The overview shows
// findings, for which a few items suffice.
constexpr size_t kMaxItems = 100;
constexpr size_t kMaxItemsOfOverview = 5;

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INTERNAL_LIST_LIMITS_H_
