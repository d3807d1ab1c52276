// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/parallelize_until.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_
#define WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/notification.h"

namespace workqueue {

// ParallelizeOptions
//
// How pieces of work are handed out.
struct ParallelizeOptions {
  // How many pieces in a row a worker takes at a time: more than one pays where
  // a piece is so short that taking it would be felt. At least 1.
  size_t chunk_size = 1;
};

// ParallelizeUntil()
//
// Calls `do_piece` with each number from 0 up to `pieces`, on `workers` threads
// at most, the caller's being one of them, and returns when all calls have. The
// function of this name in client-go.
//
// Example:
//
//     absl::Notification stop;
//     absl::Status status = workqueue::ParallelizeUntil(
//         &stop, /*workers=*/16, nodes.size(),
//         [&nodes](size_t i) { Score(nodes[i]); });
//
// Once `*stop` has been notified, no further piece is begun; a null `stop` says
// that this never happens. Returns `absl::CancelledError` if some pieces have
// not been done for that reason, and `absl::InvalidArgumentError` if `workers`
// or the chunk size is zero.
//
// If `do_piece` throws, no further piece is begun either, and the first
// exception comes out of this. If a thread cannot be started, those that could
// be do the work.
//
// Pieces are begun in order, and each is done once at most. `do_piece` is
// called from several threads at the same time. What it did happens before this
// returns.
absl::Status ParallelizeUntil(const absl::Notification* stop, size_t workers,
                              size_t pieces,
                              absl::FunctionRef<void(size_t)> do_piece,
                              const ParallelizeOptions& options = {});

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_PARALLELIZE_UNTIL_H_
