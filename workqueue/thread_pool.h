// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_THREAD_POOL_H_
#define WORKQUEUE_THREAD_POOL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/fifo.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/executor.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// ThreadPoolOptions
//
// Options of a `ThreadPool`. Every field has a usable default.
struct ThreadPoolOptions {
  // The name of the pool in messages and in the names of its threads.
  std::string name;

  // The number of threads. At least 1.
  size_t threads = 4;

  // The clock on which idle threads wait; null means the real clock. Only a
  // `FakeClock` makes a difference: `FakeClock::Step()` waits for the tasks of
  // the pool. Not owned; must outlive the pool.
  Clock* clock = nullptr;

  // Receives a message for each task that throws, at most ten at once, and then
  // two per second; null means that nobody does. Not owned; must outlive the
  // pool.
  LogSink* log_sink = nullptr;
};

// ThreadPool
//
// An executor with a fixed number of threads. Tasks begin in the order in which
// they were submitted.
//
// Example:
//
//     absl::StatusOr<std::unique_ptr<workqueue::ThreadPool>> pool =
//         workqueue::ThreadPool::Create();
//     if (!pool.ok()) return pool.status();
//     queue.AcquireAsync(pool->get(), [](auto lease) { ... });
//
// An exception of a task is logged and dropped.
//
// On a `FakeClock`, `Step()` returns when all tasks have returned, except tasks
// that wait on that clock.
//
// Submitting a task takes constant time, and wakes the thread that has been
// idle for the shortest time, if any is idle. It allocates nothing in the
// steady state if the task fits into an `absl::AnyInvocable` of its size.
//
// Thread-safe. A task may call `Execute()`, but must not destroy the pool.
class ThreadPool final : public Executor {
 public:
  // Makes a pool and starts its threads. Returns `absl::InvalidArgumentError`
  // if `options.threads` is zero, and `absl::ResourceExhaustedError` if the
  // threads could not be started.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(
      ThreadPoolOptions options = {});

  // Blocks until all submitted tasks have returned, also those that are
  // submitted by tasks meanwhile. A `std::unique_ptr` to the pool is already
  // null then: tasks that use the pool must have a pointer of their own.
  ~ThreadPool() override;

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Throws `std::bad_alloc` if there is no memory.
  void Execute(absl::AnyInvocable<void() &&> task) override;

 private:
  struct Worker {
    std::unique_ptr<Parker> parker;  // null once the thread has ended
    // Guarded by mu_.
    bool idle = false;     // whether it is in idle_
    bool running = false;  // whether it counts in running_
  };

  explicit ThreadPool(ThreadPoolOptions options);

  // The loop of a thread.
  void Work(Worker* self);

  // Takes the next task. If there is none, `*task` becomes empty, and `self` is
  // idle. Returns false if the thread must end.
  bool TakeTask(Worker* self, absl::AnyInvocable<void() &&>* task);

  // Lets the idle threads look whether they must end.
  void UnparkIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  internal::ErrorLog errors_;

  sync::Mutex mu_;
  internal::Fifo<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mu_);
  // The threads that wait for a task and have not been woken. The last one has
  // waited for the shortest time.
  std::vector<Worker*> idle_ ABSL_GUARDED_BY(mu_);
  size_t running_ ABSL_GUARDED_BY(mu_) = 0;  // tasks
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // The number of calls of `Execute()` that wake a thread.
  sync::Atomic<int> waking_{0};

  std::vector<Worker> workers_;
  internal::WorkerPool threads_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_THREAD_POOL_H_
