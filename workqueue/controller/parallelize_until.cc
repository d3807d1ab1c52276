// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/parallelize_until.h"

#include <algorithm>
#include <cstddef>
#include <exception>

#include "absl/base/config.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

absl::Status ParallelizeUntil(const sync::Notification* stop, size_t workers,
                              size_t pieces,
                              absl::FunctionRef<void(size_t)> do_piece,
                              const ParallelizeOptions& options) {
  if (workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  const size_t chunk_size = options.chunk_size;
  if (chunk_size == 0) {
    return absl::InvalidArgumentError("chunk_size is 0; it must be at least 1");
  }
  const size_t chunks = pieces / chunk_size + (pieces % chunk_size != 0);
  sync::Atomic<size_t> next_chunk{0};
  sync::Atomic<bool> stopped{false};  // whether some pieces will not be done
  const auto do_pieces = [&] {
    while (true) {
      const size_t chunk = next_chunk.fetch_add(1);
      if (chunk >= chunks) return;
      const size_t begin = chunk * chunk_size;
      const size_t end = begin + std::min(chunk_size, pieces - begin);
      for (size_t piece = begin; piece < end; ++piece) {
        if (stop != nullptr && stop->HasBeenNotified()) stopped = true;
        if (stopped) return;
        do_piece(piece);
      }
    }
  };
#ifdef ABSL_HAVE_EXCEPTIONS
  sync::Atomic<bool> failed{false};  // whether a piece threw
  std::exception_ptr error;          // the first exception
  const auto work = [&] {
    try {
      do_pieces();
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
      stopped = true;
    }
  };
#else
  const auto& work = do_pieces;
#endif
  {
    internal::WorkerPool others;
    const size_t threads = std::min(workers, chunks);
    // The work goes on without those that cannot be started.
    if (threads > 1) {
      others.Start(threads - 1, [&work](size_t) { work(); }).IgnoreError();
    }
    work();
  }
#ifdef ABSL_HAVE_EXCEPTIONS
  if (error != nullptr) std::rethrow_exception(error);
#endif
  if (!stopped) return absl::OkStatus();
  return absl::CancelledError("stopped before all pieces were done");
}

}  // namespace workqueue
