// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a thread goes from one coroutine to the next without using more and more
// of its stack.
//
// C++20's symmetric transfer does the same, if the compiler makes a tail call.
// gcc does so only in an optimized build, and not with a sanitizer. So each
// coroutine returns to a loop, which resumes the next one. This needs nothing
// of the compiler.

#ifndef WORKQUEUE_COROUTINE_INTERNAL_RESUME_LOOP_H_
#define WORKQUEUE_COROUTINE_INTERNAL_RESUME_LOOP_H_

#include <coroutine>
#include <utility>

#include "absl/base/attributes.h"

namespace workqueue::internal {

// ResumeLoop
//
// The loop that resumes the coroutines of a thread.
//
// Thread-safe: each thread has loops of its own.
class ResumeLoop {
 public:
  ResumeLoop(const ResumeLoop&) = delete;
  ResumeLoop& operator=(const ResumeLoop&) = delete;

  // Resumes `coroutine`, and then each coroutine that the one before transfers
  // to. Returns when one suspends without a transfer, or ends. A callback that
  // ends the wait of a coroutine calls this function.
  //
  // The attribute prevents the compiler from looking up the thread before a
  // coroutine suspends, and using the result after that, on another thread.
  ABSL_ATTRIBUTE_NOINLINE static void Run(std::coroutine_handle<> coroutine) {
    ResumeLoop loop(coroutine);
    while (loop.next_ != nullptr) std::exchange(loop.next_, nullptr).resume();
  }

  // Goes to `coroutine` from one that suspends: its last action in
  // `await_suspend()`. Afterwards the one that suspends may be gone.
  ABSL_ATTRIBUTE_NOINLINE static void Transfer(
      std::coroutine_handle<> coroutine) {
    ResumeLoop* const loop = Current();
    // If another library has resumed the coroutine that suspends, the thread
    // may have no loop, or its loop may have a next coroutine already.
    if (loop == nullptr || loop->next_ != nullptr) {
      Run(coroutine);
    } else {
      loop->next_ = coroutine;
    }
  }

 private:
  explicit ResumeLoop(std::coroutine_handle<> first)
      : next_(first), outer_(std::exchange(Current(), this)) {}
  ~ResumeLoop() { Current() = outer_; }

  // The innermost loop of this thread; null if there is none.
  static ResumeLoop*& Current() {
    thread_local ResumeLoop* current = nullptr;
    return current;
  }

  std::coroutine_handle<> next_;
  ResumeLoop* const outer_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_COROUTINE_INTERNAL_RESUME_LOOP_H_
