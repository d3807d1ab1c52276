// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/workqueue/watched_fifo.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_
#define WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/ordering.h"

namespace workqueue {

// WatchedFifo
//
// First in, first out, and a window on the queue that uses it: it keeps what is
// touched, calls hooks, and tells when other threads wait in the queue.
//
// Example:
//
//     auto owned = std::make_unique<WatchedFifo<int>>();
//     WatchedFifo<int>* const fifo = owned.get();
//     QueueOptions<int> options;
//     options.ordering = std::move(owned);
//     Queue<int> queue(std::move(options));
//     std::thread getter([&] { queue.Get(); });
//     fifo->AwaitBlocked(queue, 1);   // until `getter` waits
//     queue.Add(1);
template <typename T>
class WatchedFifo final : public Ordering<T> {
 public:
  // Called first thing by the function of that name. What a hook throws comes
  // out of it, with the ordering as it was.
  std::function<void()> on_push = [] {};
  std::function<void()> on_touch = [] {};
  std::function<void()> on_pop = [] {};

  // The items touched so far.
  std::vector<T> touched() const { return touched_; }

  // Blocks until other threads than that which made this have looked `n` times
  // for how many items there are, and have let go of the queue's lock. `Get()`
  // and `ShutDownWithDrain()` look just before they wait.
  void AwaitBlocked(const Interface<T>& queue, int n) {
    {
      internal::MutexLock lock(&mu_);
      while (looks_ < n) looked_.Wait(&mu_);
    }
    queue.Len();  // Takes the lock, after the last of them.
  }

  void Push(QueuedItem<T>* item) override {
    on_push();
    items_.push_back(item);
  }

  void Touch(QueuedItem<T>* item) override {
    on_touch();
    touched_.push_back(item->item());
  }

  size_t Len() const override {
    if (std::this_thread::get_id() != maker_) {
      internal::MutexLock lock(&mu_);
      ++looks_;
      looked_.SignalAll();
    }
    return items_.size();
  }

  QueuedItem<T>* Pop() override {
    on_pop();
    QueuedItem<T>* const item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  std::deque<QueuedItem<T>*> items_;
  std::vector<T> touched_;

  mutable absl::Mutex mu_;
  mutable absl::CondVar looked_;
  mutable int looks_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_
