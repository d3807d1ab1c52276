// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/check_queue_below.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_CHECK_QUEUE_BELOW_H_
#define WORKQUEUE_INTERNAL_QUEUE_CHECK_QUEUE_BELOW_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Returns an `absl::InvalidArgumentError` if the queue below, the argument
// `name`, is not `given`, or if it is and an ordering is, too.
absl::Status CheckQueueBelow(absl::string_view name, bool given,
                             bool has_ordering = false);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_CHECK_QUEUE_BELOW_H_
