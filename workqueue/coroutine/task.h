// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20. No other header of this library includes a header of this
// folder.

#ifndef WORKQUEUE_COROUTINE_TASK_H_
#define WORKQUEUE_COROUTINE_TASK_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/config.h"
#include "workqueue/coroutine/internal/resume_loop.h"

namespace workqueue {

template <typename T>
class Task;

namespace internal {

template <typename T>
class TaskAwaiter;

// The part of a task's promise that does not depend on the type of the result.
class TaskPromiseBase {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  auto final_suspend() const noexcept { return End(); }

  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

  // The coroutine that is resumed when the task has ended.
  void set_awaiter(std::coroutine_handle<> awaiter) { awaiter_ = awaiter; }

  // The exception that the task has thrown; null if it has returned.
  const std::exception_ptr& thrown() const { return thrown_; }

 protected:
  void Rethrow() const {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
#endif
  }

 private:
  struct End {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> task) const noexcept {
      ResumeLoop::Transfer(task.promise().awaiter_);
    }
    void await_resume() const noexcept {}
  };

  std::coroutine_handle<> awaiter_;
  std::exception_ptr thrown_;
};

template <typename T>
class TaskPromise final : public TaskPromiseBase {
 public:
  Task<T> get_return_object();

  template <std::convertible_to<T> U = T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }

  T TakeResult() {
    Rethrow();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public TaskPromiseBase {
 public:
  Task<void> get_return_object();

  void return_void() {}

  void TakeResult() { Rethrow(); }
};

}  // namespace internal

// Task
//
// A coroutine that returns a `T`, or nothing if `T` is `void`. A function that
// has `co_await` or `co_return` in its body, and returns a task, is such a
// coroutine:
//
//     workqueue::Task<absl::Status> Reconcile(std::string key);
//
//     workqueue::Task<void> Work(workqueue::AsyncQueue<std::string> queue) {
//       while (true) {
//         absl::StatusOr<workqueue::Lease<std::string>> lease =
//             co_await queue.Next();
//         if (!lease.ok()) co_return;  // The queue has been shut down.
//         absl::Status status = co_await Reconcile(**lease);
//         ...
//       }
//     }
//
// The body of a task begins when the task is awaited, on the thread that awaits
// it. A task can be awaited once, by `co_await Reconcile(key)` or
// `co_await std::move(task)`. `co_await` returns the result when the body has
// returned, and destroys the task. If the body throws, `co_await` throws the
// exception. `Spawn()` and `SyncWait()` begin a task outside of a coroutine. If
// another library's coroutine awaits a task while the body of a task runs it,
// the new task begins when that body suspends.
//
// A task that begins or ends runs the next coroutine without a place in the
// stack: neither a loop that awaits a million tasks nor a million tasks of
// which each awaits the next one need more stack than one task does.
//
// A task owns its coroutine. A task that is not awaited is destroyed without
// having begun: its parameters are destroyed, and its body never runs. A task
// that has begun belongs to the `co_await` and exists until it ends.
//
// Pass parameters by value: a parameter that is a reference must remain valid
// until the task ends. For the same reason, a lambda that is a task must not
// capture anything, unless the lambda exists until its task ends.
//
// gcc 12 miscompiles `co_await F(c ? a : B())`: of a conditional operator in an
// awaited expression, it destroys the temporary object twice. Make the argument
// a variable of its own before.
//
// Making a task allocates the memory of its coroutine, and throws
// `std::bad_alloc` if there is none. Awaiting it allocates nothing.
//
// `T` must be movable. Movable. Not thread-safe: one thread at a time may use a
// task.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  static_assert(!std::is_reference_v<T>, "a task cannot return a reference");

  using promise_type = internal::TaskPromise<T>;

  // Makes an object without a task. It must not be awaited.
  Task() = default;

  Task(Task&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}

  // Destroys the task that `*this` had before.
  Task& operator=(Task&& other) noexcept {
    Task moved(std::move(other));
    std::swap(coroutine_, moved.coroutine_);
    return *this;
  }

  ~Task() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  // Returns whether there is a task that can be awaited.
  explicit operator bool() const { return coroutine_ != nullptr; }

  // Begins the task. Afterwards `*this` has none.
  internal::TaskAwaiter<T> operator co_await() && {
    return internal::TaskAwaiter<T>(std::exchange(coroutine_, nullptr));
  }

 private:
  friend promise_type;

  explicit Task(std::coroutine_handle<promise_type> coroutine)
      : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace internal {

// Awaits a task, which it owns.
template <typename T>
class TaskAwaiter {
 public:
  explicit TaskAwaiter(std::coroutine_handle<TaskPromise<T>> task)
      : task_(task) {}
  TaskAwaiter(const TaskAwaiter&) = delete;
  TaskAwaiter& operator=(const TaskAwaiter&) = delete;
  ~TaskAwaiter() { task_.destroy(); }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> awaiter) {
    task_.promise().set_awaiter(awaiter);
    ResumeLoop::Transfer(task_);
  }
  T await_resume() { return task_.promise().TakeResult(); }

  // Requires that the task has ended.
  const std::exception_ptr& thrown() const { return task_.promise().thrown(); }

 private:
  const std::coroutine_handle<TaskPromise<T>> task_;
};

// Awaits the end of a task, and leaves its result to `*awaiter`, which must
// exist until then. Does not throw what the task throws.
template <typename T>
class TaskEnd {
 public:
  explicit TaskEnd(TaskAwaiter<T>* awaiter) : awaiter_(awaiter) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    awaiter_->await_suspend(waiter);
  }
  void await_resume() const noexcept {}

 private:
  TaskAwaiter<T>* const awaiter_;
};

template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_TASK_H_
