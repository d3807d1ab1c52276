// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/queue.h"

namespace workqueue {

// HookedQueue
//
// A queue below for tests of a delaying queue. It can refuse an item, throw, or
// block the caller, as a queue in a remote store can.
template <typename T>
class HookedQueue final
    : public internal::ForwardingQueue<T, Interface<T>, Interface<T>> {
 public:
  // Called for each item that is added. The queue takes it only if the result
  // is true.
  using OnAdd = std::function<bool(const T&)>;

  // `clock` is not owned; null for the real clock.
  explicit HookedQueue(OnAdd on_add, Clock* clock = nullptr)
      : Base(NewQueue(clock)), on_add_(std::move(on_add)) {}

  // Called at the beginning of `ShutDownAndDrain()` and `Close()`.
  std::function<void()> on_shut_down = [] {};

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    absl::Status status;
    for (const T& item : items) {
      status.Update(on_add_(item) ? Base::AddItems(options, this->One(item))
                                  : absl::UnavailableError("out of reach"));
    }
    return status;
  }
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    on_shut_down();
    return Base::ShutDownAndDrain(drain);
  }
  void Close() override {
    on_shut_down();
    Base::Close();
  }

 private:
  using Base = internal::ForwardingQueue<T, Interface<T>, Interface<T>>;

  static std::unique_ptr<Queue<T>> NewQueue(Clock* clock) {
    QueueOptions<T> options;
    options.clock = clock;
    return std::make_unique<Queue<T>>(std::move(options));
  }

  const OnAdd on_add_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_HOOKED_QUEUE_H_
