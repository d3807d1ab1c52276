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
namespace {

// The pieces of one call, and what the threads share to do them.
class Work {
 public:
  Work(const sync::Notification* stop, size_t pieces, size_t chunk_size,
       absl::FunctionRef<void(size_t)> do_piece)
      : stop_(stop),
        pieces_(pieces),
        chunk_size_(chunk_size),
        chunks_(pieces / chunk_size + (pieces % chunk_size != 0)),
        do_piece_(do_piece) {}

  size_t chunks() const { return chunks_; }

  // Does pieces until none is left or the work is stopped. Keeps the first
  // exception for `AllDone()`.
  void Do() {
#ifdef ABSL_HAVE_EXCEPTIONS
    try {
      DoPieces();
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
      stopped_ = true;
    }
#else
    DoPieces();
#endif
  }

  // Returns whether all pieces have been done. Throws the exception if a piece
  // threw. Call this only when all threads have ended.
  bool AllDone() const {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (error_ != nullptr) std::rethrow_exception(error_);
#endif
    return !stopped_;
  }

 private:
  void DoPieces() {
    while (true) {
      const size_t chunk = next_chunk_.fetch_add(1);
      if (chunk >= chunks_) return;
      const size_t begin = chunk * chunk_size_;
      const size_t end = begin + std::min(chunk_size_, pieces_ - begin);
      for (size_t piece = begin; piece < end; ++piece) {
        if (stop_ != nullptr && stop_->HasBeenNotified()) stopped_ = true;
        if (stopped_) return;
        do_piece_(piece);
      }
    }
  }

  const sync::Notification* const stop_;
  const size_t pieces_;
  const size_t chunk_size_;
  const size_t chunks_;
  const absl::FunctionRef<void(size_t)> do_piece_;

  sync::Atomic<size_t> next_chunk_{0};
  // Whether some pieces will not be done.
  sync::Atomic<bool> stopped_{false};
  // Whether a piece threw, and the first exception.
  sync::Atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace

absl::Status ParallelizeUntil(const sync::Notification* stop, size_t workers,
                              size_t pieces,
                              absl::FunctionRef<void(size_t)> do_piece,
                              const ParallelizeOptions& options) {
  if (workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  if (options.chunk_size == 0) {
    return absl::InvalidArgumentError("chunk_size is 0; it must be at least 1");
  }
  Work work(stop, pieces, options.chunk_size, do_piece);
  {
    internal::WorkerPool others;
    const size_t threads = std::min(workers, work.chunks());
    // The work goes on without those that cannot be started.
    if (threads > 1) {
      others.Start(threads - 1, [&work](size_t) { work.Do(); }).IgnoreError();
    }
    work.Do();
  }
  if (!work.AllDone()) {
    return absl::CancelledError("stopped before all pieces were done");
  }
  return absl::OkStatus();
}

}  // namespace workqueue
