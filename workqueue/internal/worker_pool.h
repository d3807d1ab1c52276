// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/worker_pool.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_WORKER_POOL_H_
#define WORKQUEUE_INTERNAL_WORKER_POOL_H_

#include <cstddef>
#include <functional>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/status/status.h"

namespace workqueue {
namespace internal {

// WorkerPool
//
// Threads that all do the same work, which ends when their owner tells it to.
//
// Not thread-safe, but for `RunsThisThread()`.
class WorkerPool {
 public:
  WorkerPool() = default;
  // Waits for the threads.
  ~WorkerPool() { Join(); }

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts `workers` threads, each of which calls `work` with a number of its
  // own below that. Returns `absl::ResourceExhaustedError` if not all of them
  // could be started; those that were are at work.
  absl::Status Start(size_t workers, const std::function<void(size_t)>& work);

  // Returns how many threads have been started.
  size_t size() const { return threads_.size(); }

  // Waits until each thread's work has returned.
  void Join();

  // Returns whether it is one of the threads that calls this.
  bool RunsThisThread() const;

 private:
  std::vector<std::thread> threads_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_WORKER_POOL_H_
