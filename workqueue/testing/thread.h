// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `std::thread` and `std::async()` for tests. The standard library compiles
// many functions for each lambda that these two are called with. `Thread` and
// `Async()` call them with one type, so that tests compile faster.

#ifndef WORKQUEUE_TESTING_THREAD_H_
#define WORKQUEUE_TESTING_THREAD_H_

#include <future>  // NOLINT(build/c++11)
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/functional/any_invocable.h"

namespace workqueue {

// Thread
//
// A thread that runs a function. Somebody must join it, as a `std::thread`.
class Thread {
 public:
  Thread() = default;
  // Implicit, so that a vector of threads takes functions.
  template <typename F>
  Thread(F f)  // NOLINT(runtime/explicit)
      : thread_(absl::AnyInvocable<void() &&>(std::move(f))) {}

  void join() { thread_.join(); }

 private:
  std::thread thread_;
};

// Runs `f()` on a new thread. Returns the future of its result, whose
// destructor waits for the thread.
template <typename F>
auto Async(F f) -> std::future<decltype(f())> {
  return std::async(std::launch::async,
                    absl::AnyInvocable<decltype(f())() &&>(std::move(f)));
}

}  // namespace workqueue

#endif  // WORKQUEUE_TESTING_THREAD_H_
