// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace internal {

// Opens the ring of a queue, as a thread does that has waited for the lock of
// another thread that calls the queue.
class RingOpener {
 public:
  // Returns whether the ring is open or has additions afterwards.
  template <typename... Args>
  static bool Open(QueueCore<Args...>* queue) {
    MutexLock lock(&queue->mu_);
    queue->loop_held_lock_ = false;
    queue->OpenRing();
    return queue->ring_.active();
  }

  template <typename... Args>
  static bool Open(DelayingQueue<Args...>* queue) {
    return Open(queue->own_queue_);
  }
};

}  // namespace internal

// ContendedQueue
//
// A queue that behaves as if threads always contended for its lock: each
// `Add()` is pushed to the ring of the queue if that is possible.
template <typename T, typename... HashEq>
class ContendedQueue final : public Queue<T, HashEq...> {
 public:
  using Queue<T, HashEq...>::Queue;

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    OpenRing();
    return Queue<T, HashEq...>::AddItems(options, items);
  }

  bool OpenRing() { return internal::RingOpener::Open(this); }
};

// ContendedDelayingQueue
//
// A delaying queue whose `Add()` is pushed to the ring of the queue below.
template <typename T>
class ContendedDelayingQueue final
    : public internal::ForwardingQueue<T, DelayingInterface<T>,
                                       DelayingQueue<T>> {
 public:
  explicit ContendedDelayingQueue(DelayingQueueOptions<T> options)
      : Base(std::make_unique<DelayingQueue<T>>(std::move(options))) {}

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    if (!options.after.has_value()) {
      internal::RingOpener::Open(&this->below());
    }
    return Base::AddItems(options, items);
  }
  absl::StatusOr<bool> CancelWait(const T& item) override {
    return this->below().CancelWait(item);
  }

 private:
  using Base =
      internal::ForwardingQueue<T, DelayingInterface<T>, DelayingQueue<T>>;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_
