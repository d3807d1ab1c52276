// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/unbounded_items.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_UNBOUNDED_ITEMS_H_
#define WORKQUEUE_RATELIMIT_UNBOUNDED_ITEMS_H_

#include <cstddef>
#include <limits>

namespace workqueue {

// The `max_tracked_items` of a limiter that tracks any number of items, as
// client-go's limiters do.
inline constexpr size_t kUnboundedItems = std::numeric_limits<size_t>::max();

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_UNBOUNDED_ITEMS_H_
