// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_
#define WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/interfaces.h"
#include "workqueue/ordering.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

// WatchedFifo
//
// A first-in, first-out ordering with which a test observes a queue. It records
// touched items, calls hooks, and tells when other threads wait in the queue.
//
// Example:
//
//     auto owned = std::make_unique<WatchedFifo<int>>();
//     WatchedFifo<int>* const fifo = owned.get();
//     QueueOptions<int> options;
//     options.ordering = std::move(owned);
//     Queue<int> queue(std::move(options));
//     Thread getter([&] { queue.Get(); });
//     fifo->AwaitBlocked(queue, 1);   // until `getter` waits
//     queue.Add(1);
template <typename T>
class WatchedFifo final : public Ordering<T> {
 public:
  // Each hook is called at the beginning of the function of its name. If a hook
  // throws, the function throws the same and leaves the ordering unchanged.
  std::function<void()> on_push = [] {};
  std::function<void()> on_touch = [] {};
  std::function<void()> on_pop = [] {};

  // The items touched so far.
  std::vector<T> touched() const { return touched_; }

  // Blocks until `n` threads other than the one that made this ordering have
  // called `Len()` and have released the queue's lock. `Get()` and
  // `ShutDownWithDrain()` call `Len()` just before they wait.
  void AwaitBlocked(const Interface<T>& queue, size_t n) {
    {
      internal::MutexLock lock(&mu_);
      while (looked_.size() < n) looked_changed_.Wait(&mu_);
    }
    queue.Len();  // Gets the lock only once the last of them waits.
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
      looked_.insert(std::this_thread::get_id());
      looked_changed_.SignalAll();
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
  mutable absl::CondVar looked_changed_;
  mutable std::set<std::thread::id> looked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_WATCHED_FIFO_H_
