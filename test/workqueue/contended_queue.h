// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/workqueue/contended_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_

#include "workqueue/delaying_queue.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/queue/queue_core.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace internal {

// Opens the ring of a queue, as a thread does that has waited for the lock.
class RingOpener {
 public:
  // Returns whether the ring is open or has additions afterwards.
  template <typename... Args>
  static bool Open(QueueCore<Args...>* queue) {
    MutexLock lock(&queue->mu_);
    queue->OpenRing();
    return queue->ring_.active();
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

  bool Add(const T& item) override {
    OpenRing();
    return Queue<T, HashEq...>::Add(item);
  }

  bool OpenRing() { return internal::RingOpener::Open(this); }
};

// ContendedDelayingQueue
//
// A delaying queue whose `Add()` is pushed to the ring of the queue below.
template <typename T>
class ContendedDelayingQueue final : public DelayingQueue<T> {
 public:
  using DelayingQueue<T>::DelayingQueue;

  bool Add(const T& item) override {
    internal::RingOpener::Open(static_cast<Queue<T>*>(&this->below()));
    return DelayingQueue<T>::Add(item);
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_CONTENDED_QUEUE_H_
