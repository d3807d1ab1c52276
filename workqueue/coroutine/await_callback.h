// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs C++20.

#ifndef WORKQUEUE_COROUTINE_AWAIT_CALLBACK_H_
#define WORKQUEUE_COROUTINE_AWAIT_CALLBACK_H_

#ifndef __cpp_impl_coroutine
#error "workqueue/coroutine needs coroutines: compile as C++20 or later"
#endif

#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/coroutine/internal/stoppable_wait.h"
#include "workqueue/executor.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace internal {

// The state of an `AwaitCallback()`.
template <typename R>
class CallbackState : public std::enable_shared_from_this<CallbackState<R>> {
 public:
  CallbackState(Executor* executor, absl::AnyInvocable<void(R) &&> resume)
      : executor_(executor), resume_(std::move(resume)) {}

  // Returns whether the caller is the first one, who decides the result.
  bool Claim() { return !claimed_.exchange(true); }

  // The one who decides calls this function with the result.
  void Complete(R result) {
    result_ = std::move(result);
    Arrive();
  }

  // Completes the wait if nobody has completed it. All copies of a
  // `CallbackDone` share a reference, whose end calls this function.
  void Drop() {
    if (!Claim()) return;
    Complete(MakeError(absl::StatusCode::kAborted,
                       "the callback was destroyed without a call"));
  }

  // The coroutine resumes after two events: `Complete()`, and the return of the
  // function that begins.
  void Arrive() {
    if (events_.fetch_sub(1) != 1) return;
    const bool submitted = TryCall([this] {
      executor_->Execute([self = this->shared_from_this()] { self->Resume(); });
    });
    if (!submitted) Resume();
  }

 private:
  void Resume() { std::move(resume_)(std::move(result_)); }

  Executor* const executor_;
  absl::AnyInvocable<void(R) &&> resume_;
  sync::Atomic<bool> claimed_{false};
  sync::Atomic<int> events_{2};
  R result_;
};

}  // namespace internal

// CallbackDone
//
// The callback that `AwaitCallback()` makes. Call it once, from any thread. It
// returns true. A further call, also of another copy, does nothing and returns
// false.
//
// If all copies are destroyed without a call, the result is an
// `absl::AbortedError`.
//
// Copyable, so that it can be captured by a `std::function`. Different threads
// may call different copies. May be called or destroyed at any time, also when
// the coroutine is gone.
template <typename R>
class CallbackDone {
 public:
  explicit CallbackDone(std::shared_ptr<internal::CallbackState<R>> state)
      : state_(std::move(state)) {}

  bool operator()(R result) const {
    if (!state_->Claim()) return false;
    state_->Complete(std::move(result));
    return true;
  }

 private:
  std::shared_ptr<internal::CallbackState<R>> state_;
};

namespace internal {

// The executor of coroutines that resume on the thread that calls back.
inline Executor* CallingThread() {
  static InlineExecutor* const executor = new InlineExecutor();
  return executor;
}

// Calls `begin(done)`, and has `callback` called with the argument of `done`.
// Returns the function that cancels. It is shared, because the coroutine may
// end while the function is being called.
template <typename R, typename F>
auto BeginCallback(F& begin, Executor* executor,
                   absl::AnyInvocable<void(R) &&> callback) {
  using Returned = std::invoke_result_t<F&, CallbackDone<R>>;
  constexpr bool kCannotCancel = std::is_void_v<Returned>;
  using CancelFunction =
      std::conditional_t<kCannotCancel, void (*)(), Returned>;
  // Allocates everything before the call begins.
  const auto state =
      std::make_shared<CallbackState<R>>(executor, std::move(callback));
  const auto cancel = std::make_shared<std::optional<CancelFunction>>();
  {
    const CallbackDone<R> done(std::shared_ptr<CallbackState<R>>(
        state.get(), [state](CallbackState<R>* s) { s->Drop(); }));
    const auto call_begin = [&] {
      if constexpr (kCannotCancel) {
        begin(done);
      } else {
        cancel->emplace(begin(done));
      }
    };
#ifdef ABSL_HAVE_EXCEPTIONS
    try {
      call_begin();
    } catch (...) {
      // If the callback has been called, its result counts.
      if (state->Claim()) throw;
    }
#else
    call_begin();
#endif
  }
  state->Arrive();
  return cancel;
}

}  // namespace internal

// AwaitCallback()
//
// `co_await AwaitCallback<R>(executor, begin)` calls `begin(done)`, waits until
// `done` has been called, and returns its argument, an `R`. With it a coroutine
// awaits any function that takes a callback:
//
//     workqueue::Task<absl::Status> Deploy(Client* client,
//                                          workqueue::Executor* executor,
//                                          std::string key,
//                                          std::stop_token stop) {
//       co_return co_await workqueue::AwaitCallback<absl::Status>(
//           executor,
//           [&](workqueue::CallbackDone<absl::Status> done) {
//             Call* const call = client->Deploy(key, done);
//             return [call] { call->TryCancel(); };
//           },
//           stop);
//     }
//
// `R` is an `absl::Status` or an `absl::StatusOr`.
//
// `begin` is called on the thread of the coroutine. The coroutine resumes on
// `executor`, when `done` has been called and `begin` has returned. So both may
// use what the coroutine owns, and `begin` may call `done`. If `begin` throws
// without having called `done`, `co_await` throws the exception, and calls of
// `done` do nothing.
//
// `begin` may return a function that cancels: it is called once, on the thread
// that requests a stop, if `stop` requests one before the coroutine resumes. It
// must not block. Its exceptions are dropped. The coroutine waits for `done`
// nevertheless, because the call may still use what the coroutine owns. So the
// function must make the call end soon, or call `done` itself. It may be called
// after `done`, so it must not use what `done` frees. If `begin` returns
// nothing, a stop does not end the wait.
//
// If a stop has been requested before, `begin` is not called, and the result is
// an `absl::CancelledError`.
//
// `executor` is not owned, and must outlive the wait. If it is null or throws,
// the coroutine resumes on the thread that has called `done`, or on its own
// thread if `begin` has called `done`. A coroutine must not be destroyed while
// it waits. `co_await` throws `std::bad_alloc` if there is no memory.
template <typename R, typename F>
auto AwaitCallback(Executor* executor, F begin, std::stop_token stop = {}) {
  static_assert(std::is_constructible_v<R, absl::Status>,
                "R is an absl::Status or an absl::StatusOr");
  return internal::WaitForCallback<R>(
      [begin = std::move(begin)](
          Executor* on, absl::AnyInvocable<void(R) &&> callback) mutable {
        return internal::BeginCallback<R>(begin, on, std::move(callback));
      },
      [](auto cancel) {
        if (cancel->has_value()) internal::TryCall(**cancel);
        return false;  // The callback will still be called.
      },
      executor != nullptr ? executor : internal::CallingThread(),
      std::move(stop));
}

}  // namespace workqueue

#endif  // WORKQUEUE_COROUTINE_AWAIT_CALLBACK_H_
