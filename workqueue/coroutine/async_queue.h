// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_ASYNC_QUEUE_H_
#define WORKQUEUE_COROUTINE_ASYNC_QUEUE_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "workqueue/coroutine/internal/stoppable_wait.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"

namespace workqueue {

// AsyncQueue
//
// A queue, as coroutines use it: they wait for an item without a thread. Any
// coroutine can, and so can those of other libraries.
//
// Example, a worker:
//
//     workqueue::Task<void> Work(workqueue::AsyncQueue<std::string> queue) {
//       while (true) {
//         absl::StatusOr<workqueue::Lease<std::string>> lease =
//             co_await queue.Next();
//         if (!lease.ok()) co_return;
//         co_await Reconcile(**lease);
//       }
//     }
//
//     workqueue::AsyncQueue<std::string> items(&queue, pool.get());
//     for (int i = 0; i < 1000; ++i) workqueue::Spawn(pool.get(), Work(items));
//
// Copyable. Thread-safe, as a `const` object is.
template <typename T>
class AsyncQueue {
 public:
  // The coroutines resume on `executor`. A stop that is requested by `stop`
  // ends their waits. `queue` and `executor` are not owned, and must outlive
  // the waits; the executor must outlive the queue, too. None may be null.
  AsyncQueue(Interface<T>* queue, Executor* executor, std::stop_token stop = {})
      : queue_(queue), executor_(executor), stop_(std::move(stop)) {}

  // `co_await queue.Next()` waits until there is an item. It returns
  //
  //   * a lease of the item,
  //   * `absl::CancelledError` if the queue has been shut down and is empty, or
  //     if a stop has been requested,
  //   * any other error of `Interface::AcquireAsync()`.
  //
  // Then the coroutine continues on the executor. Coroutines, callbacks and
  // threads that wait for items are served as `AcquireAsync()` describes.
  //
  // A stop ends the wait before the coroutine has taken an item, or not at all:
  // no item is lost. If the stop comes first, the coroutine does not suspend.
  // `std::stop_source::request_stop()` does not wait for the coroutines.
  //
  // The destructor of the queue shuts it down, and blocks until all coroutines
  // that wait have continued. They must not use the queue any more. It does not
  // wait for a coroutine whose wait a stop has ended: await the end of that
  // task. A coroutine must not be destroyed while it waits.
  //
  // `co_await` throws `std::bad_alloc` if there is no memory. Then the
  // coroutine has taken no item.
  auto Next() const {
    return internal::WaitForCallback<absl::StatusOr<Lease<T>>>(
        [queue = queue_](Executor* executor, AcquireCallback<T> callback) {
          return queue->AcquireAsync(executor, std::move(callback));
        },
        [queue = queue_](AcquireId id) { return queue->CancelAcquire(id); },
        executor_, stop_);
  }

 private:
  Interface<T>* queue_;
  Executor* executor_;
  std::stop_token stop_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_ASYNC_QUEUE_H_
