// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/coroutine/sync_wait.h
// -----------------------------------------------------------------------------
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_SYNC_WAIT_H_
#define WORKQUEUE_COROUTINE_SYNC_WAIT_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <coroutine>
#include <exception>
#include <utility>

#include "absl/synchronization/notification.h"
#include "workqueue/coroutine/internal/resume_loop.h"
#include "workqueue/coroutine/task.h"

namespace workqueue {
namespace internal {

// A coroutine that notifies a thread when it has suspended for the last time.
// That thread then destroys it.
class SyncWaiter {
 public:
  class promise_type {
   public:
    SyncWaiter get_return_object() {
      return SyncWaiter(
          std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept { return End(); }
    void return_void() const {}
    void unhandled_exception() const noexcept { std::terminate(); }

   private:
    friend class SyncWaiter;

    struct End {
      bool await_ready() const noexcept { return false; }
      void await_suspend(
          std::coroutine_handle<promise_type> waiter) const noexcept {
        waiter.promise().ended_->Notify();
      }
      void await_resume() const noexcept {}
    };

    absl::Notification* ended_ = nullptr;
  };

  SyncWaiter(SyncWaiter&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  SyncWaiter& operator=(SyncWaiter&&) = delete;
  ~SyncWaiter() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  // Runs the coroutine, and blocks until it has ended.
  void Run() {
    absl::Notification ended;
    coroutine_.promise().ended_ = &ended;
    ResumeLoop::Run(coroutine_);
    ended.WaitForNotification();
  }

 private:
  explicit SyncWaiter(std::coroutine_handle<promise_type> coroutine)
      : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

template <typename T>
SyncWaiter AwaitEnd(TaskAwaiter<T>* awaiter) {
  co_await TaskEnd<T>(awaiter);
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
// Thread-safe.
template <typename T>
T SyncWait(Task<T> task) {
  internal::TaskAwaiter<T> awaiter = std::move(task).operator co_await();
  internal::AwaitEnd(&awaiter).Run();
  return awaiter.await_resume();
}

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_SYNC_WAIT_H_
