// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_
#define WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// ParallelizeOptions
//
// Options of `ParallelizeUntil()`. Every field has a usable default.
struct ParallelizeOptions {
  // The number of consecutive pieces that a thread takes at a time. At least 1.
  // A larger number reduces the cost of taking pieces, which matters if the
  // pieces are short.
  size_t chunk_size = 1;
};

// ParallelizeUntil()
//
// Calls `do_piece` with each number from 0 to `pieces` - 1. Uses at most
// `workers` threads, one of which is the calling thread. Blocks until all calls
// have returned. client-go has a function of the same name.
//
// Example:
//
//     absl::Notification stop;
//     absl::Status status = workqueue::ParallelizeUntil(
//         &stop, /*workers=*/16, nodes.size(),
//         [&nodes](size_t i) { Score(nodes[i]); });
//
// After `*stop` has been notified, no further call begins. `stop` may be null.
// Returns
//
//   * `absl::CancelledError` if some pieces were not done because of `stop`,
//   * `absl::InvalidArgumentError` if `workers` or the chunk size is zero.
//
// If `do_piece` throws, no further call begins, and `ParallelizeUntil()` throws
// the first exception. If a thread cannot be started, the threads that could be
// started do the work.
//
// The threads take the pieces in increasing order. No piece is done twice.
// `do_piece` must be thread-safe. Each call of `do_piece` happens before the
// return of `ParallelizeUntil()`.
absl::Status ParallelizeUntil(const sync::Notification* stop, size_t workers,
                              size_t pieces,
                              absl::FunctionRef<void(size_t)> do_piece,
                              const ParallelizeOptions& options = {});

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_
