// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20. No other header of this library includes this one.

#ifndef WORKQUEUE_CONTROLLER_COROUTINE_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_COROUTINE_RECONCILE_H_

#ifndef __cpp_impl_coroutine
#error "coroutine_reconcile.h needs coroutines: compile as C++20 or later"
#endif

#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/task.h"

namespace workqueue {
namespace internal {

template <typename F, typename T>
auto CallCoroutineReconcile(F& f, const T& item,
                            const AsyncReconcileContext& context,
                            std::stop_token stop) {
  if constexpr (std::is_invocable_v<F&, const T&, AsyncReconcileContext,
                                    std::stop_token>) {
    return f(item, context, std::move(stop));
  } else if constexpr (std::is_invocable_v<F&, const T&, std::stop_token>) {
    return f(item, std::move(stop));
  } else {
    return f(item);
  }
}

// Awaits `task`, and hands its result to `done`. `*f` and the item exist at
// least as long as the task.
template <typename F, typename R>
Spawned RunCoroutineReconcile(std::shared_ptr<F> /*f*/, Task<R> task,
                              AsyncReconcileContext /*context*/,
                              ReconcileCompletion done) {
  absl::StatusOr<ReconcileResult> result;
  {
    TaskAwaiter<R> awaiter = std::move(task).operator co_await();
    co_await TaskEnd<R>(&awaiter);
    result = CatchAsStatus([&awaiter]() -> absl::StatusOr<ReconcileResult> {
      if constexpr (std::is_same_v<R, absl::Status>) {
        absl::Status status = awaiter.await_resume();
        if (!status.ok()) return status;
        return ReconcileResult();
      } else {
        return awaiter.await_resume();
      }
    });
  }
  // The task has been destroyed, and uses the item no more.
  done(std::move(result));
}

}  // namespace internal

// CoroutineReconcile
//
// Makes an asynchronous reconcile function of `f`, a function or a function
// object that returns a task:
//
//     workqueue::Task<absl::Status> Deploy(const std::string& key,
//                                          std::stop_token stop) {
//       absl::Status created = co_await Create(key, stop);
//       if (!created.ok()) co_return created;
//       workqueue::AsyncTimers timers(&all_timers, &executor, stop);
//       absl::Status waited = co_await timers.After(absl::Seconds(1));
//       if (!waited.ok()) co_return waited;
//       co_return co_await Check(key, stop);
//     }
//
//     options.executor = &executor;
//     options.reconcile_async =
//         workqueue::CoroutineReconcile<std::string>(Deploy);
//
// `f` takes the item; the item and a `std::stop_token`; or the item, an
// `AsyncReconcileContext` and a `std::stop_token`. A stop is requested at the
// deadline of the reconciliation, or when the controller does not wait any
// longer (see `AsyncReconcileContext::OnCancel()`). `f` must not call
// `OnCancel()`, which would replace the callback that requests the stop: it has
// `std::stop_callback`. The task returns an `absl::Status`, an
// `absl::StatusOr<ReconcileResult>` or a `ReconcileResult`. An exception counts
// as an error.
//
// The task begins on the executor of the controller. It resumes where what it
// awaits resumes it. It should take the item by reference, and all else by
// value: the item and `f` exist until the task has ended, even if the
// controller is destroyed before. So `f` may be a lambda with captures.
//
// When the task has suspended once, `Controller::Stop()` would wait for it. To
// stop the controller, it must call `Stop(absl::ZeroDuration())` or
// `StopAsync()`.
//
// Several threads may call `f` at the same time, for different items.
template <typename T, typename F>
AsyncReconcileFunction<T> CoroutineReconcile(F f) {
  const auto shared = std::make_shared<F>(std::move(f));
  return [shared](const T& item, const AsyncReconcileContext& context,
                  ReconcileCompletion done) {
    std::stop_source stop;
    // Without a deadline, too: the controller may stop to wait.
    context.OnCancel([stop]() mutable { stop.request_stop(); });
    auto task = internal::CallCoroutineReconcile(*shared, item, context,
                                                 stop.get_token());
    internal::RunCoroutineReconcile(shared, std::move(task), context,
                                    std::move(done))();
  };
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_COROUTINE_RECONCILE_H_
