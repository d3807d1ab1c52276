// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_SPAWN_H_
#define WORKQUEUE_COROUTINE_SPAWN_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <coroutine>
#include <exception>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/coroutine/internal/resume_loop.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/executor.h"

namespace workqueue {

// SpawnCallback
//
// A function that is called when a spawned task has ended: with OK if the task
// has returned, and with an `absl::InternalError` with the message of the
// exception if it has thrown. Must not throw.
using SpawnCallback = absl::AnyInvocable<void(absl::Status status) &&>;

namespace internal {

// A coroutine that nobody awaits. Destroys itself when it ends.
class Spawned {
 public:
  struct promise_type {
    Spawned get_return_object() {
      return Spawned(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };

  Spawned(Spawned&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Spawned& operator=(Spawned&&) = delete;
  ~Spawned() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  // Begins the coroutine, which owns itself from now on.
  void operator()() && { ResumeLoop::Run(std::exchange(coroutine_, nullptr)); }

 private:
  explicit Spawned(std::coroutine_handle<> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<> coroutine_;
};

inline Spawned RunSpawned(Executor* executor, Task<void> task,
                          SpawnCallback callback) {
  std::exception_ptr thrown;
  {
    TaskAwaiter<void> awaiter = std::move(task).operator co_await();
    co_await TaskEnd<void>(&awaiter);
    thrown = awaiter.thrown();
  }
  // The task has been destroyed.
  const auto rethrow = [thrown] {
    if (thrown != nullptr) std::rethrow_exception(thrown);
  };
  if (callback != nullptr) {
    std::move(callback)(CatchAsStatus(rethrow));
  } else if (thrown != nullptr) {
    TryCall([&] { executor->Execute(rethrow); });
  }
}

}  // namespace internal

// Spawn
//
// Begins `task` on `executor`, and returns. The task owns itself: it exists
// until it ends. Calls `callback` when the task has ended and has been
// destroyed, on the thread on which the task has ended.
//
//     workqueue::Spawn(&executor, Work(queue), [](absl::Status status) {
//       ...
//     });
//
// If there is no callback and the task throws, the executor gets the exception,
// as that of any of its tasks: the executors of this library log it.
//
// To wait for several tasks, count them in the callback, for example with an
// `absl::BlockingCounter`.
//
// `executor` is not owned and must outlive the task. Aborts the program if it
// is null, or if `task` is an object without a task. Throws what `Execute()`
// throws, and `std::bad_alloc` if there is no memory. Then the task does not
// begin, and is destroyed, as is the callback, which is not called.
//
// Thread-safe.
inline void Spawn(Executor* executor, Task<void> task,
                  SpawnCallback callback = nullptr) {
  internal::DieIfNull(executor, "executor of Spawn()");
  if (!task) internal::Fatal("the task of Spawn() is null");
  executor->Execute(
      internal::RunSpawned(executor, std::move(task), std::move(callback)));
}

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_SPAWN_H_
