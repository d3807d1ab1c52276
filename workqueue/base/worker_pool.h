// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_WORKER_POOL_H_
#define WORKQUEUE_BASE_WORKER_POOL_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Gives the calling thread the name "`owner`:`role`", which debuggers, top(1)
// and crash reports show. An empty `owner` becomes "workqueue". The kernel's
// limit is 15 bytes, so a longer `owner` is cut. Bytes that are not printable
// ASCII become question marks. `role` has at most 8 bytes.
//
// Does nothing on systems other than Linux and macOS. Throws nothing.
void NameThisThread(absl::string_view owner, absl::string_view role);

// WorkerPool
//
// Threads that all run the same function. The owner of the pool must make the
// function return: the pool cannot interrupt it.
//
// Not thread-safe, except for `RunsThisThread()`.
class WorkerPool {
 public:
  WorkerPool() = default;
  // Blocks until all threads have ended.
  ~WorkerPool() { Join(); }

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts `workers` threads. Each thread calls `work` once, with its own
  // number from 0 to `workers` - 1. Returns `absl::ResourceExhaustedError` if
  // not all threads could be started, or `absl::InternalError` if there is no
  // memory for that error's message either. The threads that were started keep
  // running.
  absl::Status Start(size_t workers, const std::function<void(size_t)>& work);

  // Returns the number of threads that have been started and not joined.
  size_t size() const { return threads_.size(); }

  // Blocks until all threads have ended.
  void Join();

  // Returns whether the calling thread is one of the pool's threads.
  bool RunsThisThread() const;

 private:
  std::vector<sync::Thread> threads_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_WORKER_POOL_H_
