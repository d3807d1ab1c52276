// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/workqueue/hooked_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "workqueue/interfaces.h"
#include "workqueue/queue.h"

namespace workqueue {

// HookedQueue
//
// A queue for below a delaying queue, that can refuse an item, throw, or keep
// the caller waiting, as one in another machine's store would.
template <typename T>
class HookedQueue final : public Interface<T> {
 public:
  // Called first thing by `Add()`, which takes the item only if this returns
  // true.
  using OnAdd = std::function<bool(const T&)>;

  explicit HookedQueue(OnAdd on_add) : on_add_(std::move(on_add)) {}

  // Called first thing by `ShutDown()` and `ShutDownWithDrain()`.
  std::function<void()> on_shut_down = [] {};

  bool Add(const T& item) override { return on_add_(item) && queue_.Add(item); }
  std::optional<T> Get() override { return queue_.Get(); }
  bool Done(const T& item) override { return queue_.Done(item); }
  size_t Len() const override { return queue_.Len(); }
  void ShutDown() override {
    on_shut_down();
    queue_.ShutDown();
  }
  bool ShutDownWithDrain() override {
    on_shut_down();
    return queue_.ShutDownWithDrain();
  }
  bool ShuttingDown() const override { return queue_.ShuttingDown(); }

 private:
  const OnAdd on_add_;
  Queue<T> queue_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_
