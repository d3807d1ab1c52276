// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_SUBMIT_TASK_H_
#define WORKQUEUE_INTERNAL_SUBMIT_TASK_H_

#include <utility>

#include "workqueue/base/exceptions.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/executor.h"

namespace workqueue::internal {

// For `SubmitTask()`: the executor of the deferred task that begins.
inline thread_local Executor* executor_of_deferred = nullptr;

// Submits `task` to `executor`. If the executor throws, runs `task` here, and
// drops its exceptions: no task is lost.
//
// If a task that this function has submitted to `executor` runs further up this
// thread's stack, then the executor runs tasks at once. `task` is submitted
// when that one has returned.
//
// `task` must be copyable. This allocates nothing in the steady state if `task`
// has the size of two pointers.
template <typename F>
void SubmitTask(Executor* executor, const F& task) {
  if (Trampoline::Runs(executor)) {
    const auto submit_deferred = [](void* to, Trampoline::Task&& deferred) {
      executor_of_deferred = static_cast<Executor*>(to);
      std::move(deferred)();
    };
    const auto submit = [task] { SubmitTask(executor_of_deferred, task); };
    if (TryCall(
            [&] { Trampoline::Defer(submit_deferred, executor, submit); })) {
      return;
    }
  }
  const Trampoline::Running running(executor);
  if (!TryCall([&] { executor->Execute(task); })) TryCall(task);
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_SUBMIT_TASK_H_
