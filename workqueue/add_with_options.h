// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/add_with_options.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_ADD_WITH_OPTIONS_H_
#define WORKQUEUE_ADD_WITH_OPTIONS_H_

#include "absl/types/span.h"
#include "workqueue/interfaces.h"

namespace workqueue {

// AddWithOptions()
//
// Adds each of `items` to `queue` in order, as `options` say. So code that adds
// items, such as a controller's source, needs not know whether the queue has
// priorities:
//
//   * A queue with priorities does what `PriorityInterface::AddWithOptions()`
//     does.
//   * Any other queue ignores `options.priority`, and also ignores
//     `options.after` if `options.rate_limited` is set. It may throw after it
//     has added the first items.
//
// Returns false if the queue did not take all of the items, as `Add()` does.
//
// Example:
//
//     workqueue::AddOptions initial;
//     initial.priority = -100;
//     workqueue::AddWithOptions<std::string>(context.queue, initial, all_keys);
template <typename T>
bool AddWithOptions(RateLimitingInterface<T>& queue, const AddOptions& options,
                    absl::Span<const T> items) {
  if (auto* const priority_queue = queue.AsPriorityQueue()) {
    return priority_queue->AddWithOptions(options, items);
  }
  bool taken = true;
  for (const T& item : items) {
    taken &= !options.rate_limited ? queue.AddAfter(item, options.after)
             : options.retry_after.has_value()
                 ? queue.AddRateLimitedAfter(item, *options.retry_after)
                 : queue.AddRateLimited(item);
  }
  return taken;
}

}  // namespace workqueue

#endif  // WORKQUEUE_ADD_WITH_OPTIONS_H_
