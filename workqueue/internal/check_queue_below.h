// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/check_queue_below.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_CHECK_QUEUE_BELOW_H_
#define WORKQUEUE_INTERNAL_CHECK_QUEUE_BELOW_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Checks the arguments of a queue that is created on a queue below. `name` is
// the name of the argument that is the queue below. Returns an
// `absl::InvalidArgumentError` if that argument is not `given`, if an ordering
// is given, too, or if `clocks_differ`: those of the queue and of the layer.
absl::Status CheckQueueBelow(absl::string_view name, bool given,
                             bool has_ordering = false,
                             bool clocks_differ = false);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_CHECK_QUEUE_BELOW_H_
