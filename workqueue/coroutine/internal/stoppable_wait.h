// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_COROUTINE_INTERNAL_STOPPABLE_WAIT_H_
#define WORKQUEUE_COROUTINE_INTERNAL_STOPPABLE_WAIT_H_

#include <coroutine>
#include <optional>
#include <stop_token>
#include <thread>  // NOLINT(build/c++11)
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/coroutine/internal/resume_loop.h"
#include "workqueue/executor.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// StoppableWait
//
// A coroutine awaits such an object to wait for a callback. A stop token can
// end the wait before. `Result` is an `absl::Status` or an `absl::StatusOr`.
// The callback comes from these functions:
//
//     // Has `callback` called once, on `executor`, unless it is cancelled.
//     Id begin(Executor* executor,
//              absl::AnyInvocable<void(Result) &&> callback);
//
//     // Returns whether the callback will never be called.
//     bool cancel(Id id);
//
// The coroutine resumes on the executor, with the result of the callback, or
// with `absl::CancelledError` if the token has cancelled the callback. The
// callback returns when the coroutine has continued. If a stop has been
// requested before, the coroutine does not suspend.
//
// A coroutine must not be destroyed while it waits.
template <typename Result, typename Begin, typename Cancel>
class [[nodiscard]] StoppableWait {
 public:
  StoppableWait(Begin begin, Cancel cancel, Executor* executor,
                std::stop_token stop)
      : begin_(std::move(begin)),
        cancel_(std::move(cancel)),
        executor_(executor),
        stop_(std::move(stop)) {}

  StoppableWait(const StoppableWait&) = delete;
  StoppableWait& operator=(const StoppableWait&) = delete;

  bool await_ready() {
    if (!stop_.stop_requested()) return false;
    result_ = Stopped();
    return true;
  }

  // If this throws, the coroutine does not wait. The attribute keeps the local
  // variables out of the coroutine, where some compilers put what is inlined.
  ABSL_ATTRIBUTE_NOINLINE bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    const auto callback = [this](Result result) {
      result_ = std::move(result);
      if (AwaitSuspended()) ResumeLoop::Run(waiter_);
    };
    if (!stop_.stop_possible()) {
      begin_(executor_, callback);
      return true;  // The coroutine may be gone.
    }
    bool ended = false;
    ended_ = &ended;
    suspending_.store(std::this_thread::get_id());
    Id id = begin_(executor_, callback);
    if (ended) return true;  // The coroutine may be gone.
    id_.emplace(std::move(id));
    on_stop_.emplace(stop_, OnStop{this});
    if (ended) return false;
    suspending_.store(std::thread::id());
    return true;  // The coroutine may be gone.
  }

  Result await_resume() {
    // Blocks while another thread executes OnStop.
    on_stop_.reset();
    return std::move(result_);
  }

 private:
  using Id = std::invoke_result_t<Begin&, Executor*,
                                  absl::AnyInvocable<void(Result) &&>>;

  struct OnStop {
    void operator()() const {
      if (!wait->cancel_(*wait->id_)) return;
      wait->result_ = Stopped();
      if (!wait->AwaitSuspended()) return;
      const std::coroutine_handle<> waiter = wait->waiter_;
      if (!wait->ResumeOnExecutor()) ResumeLoop::Run(waiter);
    }

    StoppableWait* wait;
  };

  static absl::Status Stopped() {
    return MakeError(absl::StatusCode::kCancelled, "a stop has been requested");
  }

  // The callback, or the stop that has cancelled it, calls this when the result
  // is there. Returns true if the caller is to resume the coroutine. On another
  // thread this waits for await_suspend(), which needs this object if there is
  // a token. The callback must not return before the coroutine has continued,
  // because what has been begun may be destroyed then.
  bool AwaitSuspended() {
    if (suspending_.load() == std::this_thread::get_id()) {
      *ended_ = true;
      return !id_.has_value();  // within begin_
    }
    while (suspending_.load() != std::thread::id()) sync::Yield();
    return true;
  }

  // Returns false if the executor has thrown. Otherwise the coroutine may be
  // gone.
  bool ResumeOnExecutor() {
    return TryCall([this] {
      executor_->Execute([waiter = waiter_] { ResumeLoop::Run(waiter); });
    });
  }

  Begin begin_;
  Cancel cancel_;
  Executor* const executor_;
  const std::stop_token stop_;
  std::coroutine_handle<> waiter_;
  // The thread of an await_suspend() with a token, until it is done.
  sync::Atomic<std::thread::id> suspending_{std::thread::id()};
  bool* ended_ = nullptr;  // to be set on that thread
  std::optional<Id> id_;
  Result result_;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

template <typename Result, typename Begin, typename Cancel>
StoppableWait<Result, Begin, Cancel> WaitForCallback(Begin begin, Cancel cancel,
                                                     Executor* executor,
                                                     std::stop_token stop) {
  return {std::move(begin), std::move(cancel), executor, std::move(stop)};
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_COROUTINE_INTERNAL_STOPPABLE_WAIT_H_
