// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_ASYNC_TIMERS_H_
#define WORKQUEUE_COROUTINE_ASYNC_TIMERS_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/coroutine/internal/stoppable_wait.h"
#include "workqueue/executor.h"
#include "workqueue/timers.h"

namespace workqueue {

// AsyncTimers
//
// Timers, as coroutines use them: they wait for time without a thread. Any
// coroutine can, and so can those of other libraries.
//
// Example:
//
//     workqueue::Task<void> Poll(workqueue::AsyncTimers timers) {
//       while (true) {
//         absl::Status status = co_await timers.After(absl::Seconds(10));
//         if (!status.ok()) co_return;
//         Look();
//       }
//     }
//
//     workqueue::Timers timers;
//     workqueue::Spawn(
//         &executor, Poll(workqueue::AsyncTimers(&timers, &executor, stop)));
//
// On a `FakeClock`, `Step()` returns when all coroutines whose time has come
// have continued and wait again, if the executor is an `InlineExecutor` or a
// `ThreadPool` on the same clock.
//
// Copyable. Thread-safe, as a `const` object is.
class AsyncTimers {
 public:
  // The coroutines resume on `executor`. A stop that is requested by `stop`
  // ends their waits. `timers` and `executor` are not owned, and must outlive
  // the waits. None may be null.
  AsyncTimers(Timers* timers, Executor* executor, std::stop_token stop = {})
      : timers_(timers), executor_(executor), stop_(std::move(stop)) {}

  // `co_await timers.After(delay)` waits until `delay` has passed, as
  // `Timers::CallAfter()` does. It returns OK, or `absl::CancelledError` if the
  // timers have been shut down, or if a stop has been requested. Then the
  // coroutine continues on the executor. If the stop has been requested before,
  // the coroutine does not suspend.
  //
  // The destructor of the timers ends all waits, and blocks until the
  // coroutines have continued and wait for something else. It does not wait for
  // a coroutine whose wait a stop has ended: await the end of that task. A
  // coroutine must not be destroyed while it waits.
  //
  // `co_await` throws `std::bad_alloc` if there is no memory.
  auto After(absl::Duration delay) const {
    return internal::WaitForCallback<absl::Status>(
        [timers = timers_, delay](Executor* executor, TimerCallback callback) {
          return timers->CallAfter(delay, executor, std::move(callback));
        },
        [timers = timers_](TimerId id) { return timers->Cancel(id); },
        executor_, stop_);
  }

 private:
  Timers* timers_;
  Executor* executor_;
  std::stop_token stop_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_ASYNC_TIMERS_H_
