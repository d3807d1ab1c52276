// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/controller.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_CONTROLLER_H_
#define WORKQUEUE_EXAMPLES_MIRROR_CONTROLLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/status/status.h"
#include "clock/clock.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/queue_metrics.h"
#include "workqueue/rate_limiting_queue.h"

namespace mirror {

// Controller
//
// A queue of paths, and workers that reconcile them. What fails is tried again,
// later each time. See `Work()` in controller.cc: that loop is the heart of
// every controller.
//
// Thread-safe, but `Drain()` is for one thread at a time.
class Controller {
 public:
  struct Options {
    // Makes what is at `path` as it should be. Called by several threads, but
    // for each path by one at a time.
    std::function<absl::Status(const std::string& path)> reconcile;

    // Told about each failure, if set.
    std::function<void(const absl::Status&)> on_failure;

    int workers = 1;

    // How often a path is tried before it is given up.
    int max_tries = std::numeric_limits<int>::max();

    // The clock that the queue goes by; null for the real one.
    clocks::Clock* clock = nullptr;
  };

  // Starts the workers.
  explicit Controller(Options options);

  // Calls `Drain()`.
  ~Controller();

  // Has `path` reconciled soon.
  void Enqueue(const std::string& path);

  // Has all that failed, and waits to be tried again, tried at once.
  void RetryNow();

  // Returns whether nothing is queued or being reconciled.
  bool Quiet() const;

  // Returns whether, moreover, nothing waits to be tried again.
  bool Finished() const;

  // From now on nothing more is enqueued. Blocks until all that is has been
  // reconciled. What waits to be tried again is dropped.
  void Drain();

  // What failed when it was tried last, with the reasons.
  PathMap<absl::Status> failures() const;
  size_t num_failures() const;

  // How many paths are queued.
  size_t Len() const { return queue_.Len(); }

  // How often a path was to be queued, now or later, and was queued already.
  int64_t folded() const;

  // How often a path was enqueued.
  int64_t enqueued() const { return enqueued_; }

  const QueueMetrics& metrics() const { return metrics_; }

 private:
  // What each worker does.
  void Work();

  void Succeeded(const std::string& path);
  void Failed(const std::string& path, const absl::Status& status,
              bool given_up);

  const Options options_;
  QueueMetrics metrics_;
  workqueue::RateLimitingQueue<std::string> queue_;
  std::atomic<int64_t> enqueued_{0};

  mutable std::mutex mu_;
  // Paths that failed when they were tried last: those that will be tried
  // again, and those that will not.
  PathMap<absl::Status> failed_;
  PathMap<absl::Status> given_up_;

  std::vector<std::thread> workers_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_CONTROLLER_H_
