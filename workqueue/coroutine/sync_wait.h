// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_SYNC_WAIT_H_
#define WORKQUEUE_COROUTINE_SYNC_WAIT_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <utility>

#include "workqueue/base/error_log.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace internal {

// Notifies a thread when a task has ended. Leaves the result to `*awaiter`.
template <typename T>
Spawned NotifyOfEnd(TaskAwaiter<T>* awaiter, sync::Notification* ended) {
  co_await TaskEnd<T>(awaiter);
  ended->Notify();
}

}  // namespace internal

// SyncWait
//
// Begins `task` on this thread, blocks until it has ended, and returns its
// result or throws its exception. For `main()` and for tests. A coroutine uses
// `co_await` instead: it must not block the thread of an executor.
//
// If the task waits for an executor, other threads must run the tasks of that
// executor. If the task waits for a `FakeClock`, another thread must move the
// time. So a test of such tasks uses `Spawn()`.
//
// Aborts the program if `task` is an object without a task.
//
// Thread-safe.
template <typename T>
T SyncWait(Task<T> task) {
  if (!task) internal::Fatal("the task of SyncWait() is null");
  internal::TaskAwaiter<T> awaiter = std::move(task).operator co_await();
  sync::Notification ended;
  internal::NotifyOfEnd(&awaiter, &ended)();
  ended.WaitForNotification();
  return awaiter.await_resume();
}

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_SYNC_WAIT_H_
