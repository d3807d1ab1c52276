// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_QUEUE_H_
#define WORKQUEUE_WORKQUEUE_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "base/entry_table.h"
#include "base/intrusive_list.h"
#include "base/mutex_lock.h"
#include "clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/waiting_loop.h"

namespace workqueue {

// QueueOptions
//
// How a queue is made. All have a default that does.
template <typename T>
struct QueueOptions {
  // The queue's name in metrics. A queue without a name reports none.
  std::string name;

  // What the queue reports to; null for the default provider. Not owned, must
  // outlive the queue.
  MetricsProvider* metrics_provider = nullptr;

  // The clock that it goes by; null for the real one. Not owned, must outlive
  // the queue.
  clocks::Clock* clock = nullptr;

  // The order in which items are handed out; null for first in, first out.
  std::unique_ptr<Ordering<T>> ordering;

  // The thread that does what happens with time; null for one of the queue's
  // own, if it needs any. Queues may share one. Must go by `clock`.
  std::shared_ptr<WaitingLoop> waiting_loop;
};

// Queue
//
// A deduplicating queue in memory: `Interface` has the promises. The bottom of
// the three layers, and of use on its own where nothing is ever added later.
//
// Example:
//
//     workqueue::Queue<std::string> queue;
//     std::thread worker([&queue] {
//       while (std::optional<std::string> key = queue.Get()) {
//         Reconcile(*key);
//         queue.Done(*key);
//       }
//     });
//     queue.Add("default/web");
//     queue.Add("default/web");  // the same item: reconciled once
//     queue.ShutDownWithDrain();
//     worker.join();
//
// `Hash` and `Eq` are those of a hash set, and must agree. If they, or copying
// a `T`, throw, the exception comes out of the call and the queue is as it was.
//
// Each call takes constant time, whatever the queue holds, and allocates
// nothing in the steady state (copying a `T` may).
//
// Thread-safe. Destroy the queue only when no call on it is in progress.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class Queue : public Interface<T> {
 public:
  explicit Queue(QueueOptions<T> options = {});
  ~Queue() override = default;

  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  bool Add(const T& item) override;
  std::optional<T> Get() override;
  bool Done(const T& item) override;
  size_t Len() const override;
  void ShutDown() override;
  bool ShutDownWithDrain() override;
  bool ShuttingDown() const override;

 private:
  using MutexLock = workqueue_internal::MutexLock;

  // An item that is dirty, being processed, or both. An item that is neither
  // has no entry. What is dirty and not being processed is queued: it is in
  // `ordering_` or `fifo_`. What is being processed is in `processing_`.
  struct Entry : QueuedItem<T>, workqueue_internal::IntrusiveLink<Entry> {
    explicit Entry(const T& item) : QueuedItem<T>(item) {}

    bool dirty = false;
    bool processing = false;
    size_t hash = 0;
    internal::ItemTimes times;
  };

  size_t QueuedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ordering_ != nullptr ? ordering_->Len() : fifo_.size();
  }

  bool IdleLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return processing_.empty() && QueuedLocked() == 0;
  }

  void BeginShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::unique_ptr<internal::QueueMetrics> metrics_;

  mutable absl::Mutex mu_;
  // Signalled when an item is queued, and when the queue shuts down.
  absl::CondVar queued_;
  // Signalled when, while shutting down, there is nothing left to do, and by
  // ShutDown().
  absl::CondVar drained_;

  // Written under mu_.
  std::atomic<bool> shutting_down_{false};
  // Calls of ShutDown(); one of them ends the drains that are in progress.
  int64_t shut_downs_ ABSL_GUARDED_BY(mu_) = 0;
  // Threads in Get() that wait for an item.
  size_t waiting_getters_ ABSL_GUARDED_BY(mu_) = 0;

  workqueue_internal::EntryTable<T, Entry, Hash, Eq> entries_
      ABSL_GUARDED_BY(mu_);
  // Null for first in, first out. After entries_, since it may look at its
  // items until it is destroyed.
  const std::unique_ptr<Ordering<T>> ordering_;
  // What is queued, if there is no ordering_.
  workqueue_internal::IntrusiveList<Entry> fifo_ ABSL_GUARDED_BY(mu_);
  // What is being processed, in the order in which it was handed out.
  workqueue_internal::IntrusiveList<Entry> processing_ ABSL_GUARDED_BY(mu_);

  // Reports the work in progress; null without metrics_. The last member, since
  // it runs until it is destroyed.
  std::unique_ptr<internal::Ticker> ticker_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
Queue<T, Hash, Eq>::Queue(QueueOptions<T> options)
    : metrics_(
          internal::QueueMetrics::Create(options.name, options.metrics_provider,
                                         clocks::OrRealClock(options.clock))),
      ordering_(std::move(options.ordering)) {
  if (metrics_ == nullptr) return;
  clocks::Clock* const clock = clocks::OrRealClock(options.clock);
  if (options.waiting_loop == nullptr) {
    options.waiting_loop = std::make_shared<WaitingLoop>(clock);
  }
  ticker_ = std::make_unique<internal::Ticker>(
      std::move(options.waiting_loop), clock,
      internal::QueueMetrics::UpdatePeriod(), [this] {
        MutexLock lock(&mu_);
        if (ShuttingDown()) return;
        metrics_->UpdateUnfinishedWork(
            processing_.empty() ? nullptr : &processing_.front()->times);
      });
}

template <typename T, typename Hash, typename Eq>
bool Queue<T, Hash, Eq>::Add(const T& item) {
  const size_t hash = Hash()(item);
  bool wake_a_getter = false;
  {
    MutexLock lock(&mu_);
    if (ShuttingDown()) return false;
    Entry* const entry = entries_.FindOrInsert(item, hash).first;
    if (entry->dirty) {
      if (!entry->processing && ordering_ != nullptr) ordering_->Touch(entry);
      return true;
    }
    absl::Cleanup undo = [this, entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (!entry->processing) entries_.Erase(entry);
    };
    if (metrics_ != nullptr) metrics_->Added(entry->times);
    if (!entry->processing) {
      if (ordering_ != nullptr) {
        ordering_->Push(entry);
      } else {
        fifo_.PushBack(entry);
      }
      wake_a_getter = waiting_getters_ > 0;
    }
    std::move(undo).Cancel();
    entry->dirty = true;
  }
  if (wake_a_getter) queued_.Signal();
  return true;
}

template <typename T, typename Hash, typename Eq>
std::optional<T> Queue<T, Hash, Eq>::Get() {
  // The only object returned, so that returning it copies nothing: a copy could
  // throw when all has been done.
  std::optional<T> item;
  MutexLock lock(&mu_);
  while (QueuedLocked() == 0) {
    if (ShuttingDown()) return item;
    ++waiting_getters_;
    queued_.Wait(&mu_);
    --waiting_getters_;
  }
  Entry* entry = nullptr;
  absl::Cleanup undo = [this, &entry]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (ordering_ != nullptr && entry != nullptr) ordering_->Push(entry);
    queued_.Signal();  // Another thread may have more luck.
  };
  entry = ordering_ != nullptr ? static_cast<Entry*>(ordering_->Pop())
                               : fifo_.front();
  item.emplace(entry->item());
  if (metrics_ != nullptr) metrics_->Started(entry->times);
  std::move(undo).Cancel();
  if (ordering_ == nullptr) fifo_.Remove(entry);
  entry->dirty = false;
  entry->processing = true;
  processing_.PushBack(entry);
  return item;
}

template <typename T, typename Hash, typename Eq>
bool Queue<T, Hash, Eq>::Done(const T& item) {
  const size_t hash = Hash()(item);
  bool wake_a_getter = false;
  {
    MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr || !entry->processing) return false;
    if (metrics_ != nullptr) metrics_->ObserveWork(entry->times);
    if (entry->dirty && ordering_ != nullptr) ordering_->Push(entry);
    // From here on nothing throws.
    if (metrics_ != nullptr) metrics_->Finished(entry->times);
    processing_.Remove(entry);
    entry->processing = false;
    if (entry->dirty) {
      if (ordering_ == nullptr) fifo_.PushBack(entry);
      wake_a_getter = waiting_getters_ > 0;
    } else {
      entries_.Erase(entry);
      if (ShuttingDown() && IdleLocked()) drained_.SignalAll();
    }
  }
  if (wake_a_getter) queued_.Signal();
  return true;
}

template <typename T, typename Hash, typename Eq>
size_t Queue<T, Hash, Eq>::Len() const {
  MutexLock lock(&mu_);
  return QueuedLocked();
}

template <typename T, typename Hash, typename Eq>
void Queue<T, Hash, Eq>::ShutDown() {
  MutexLock lock(&mu_);
  BeginShutDown();
  ++shut_downs_;
  drained_.SignalAll();
}

template <typename T, typename Hash, typename Eq>
bool Queue<T, Hash, Eq>::ShutDownWithDrain() {
  MutexLock lock(&mu_);
  BeginShutDown();
  const int64_t shut_downs_before = shut_downs_;
  while (!IdleLocked() && shut_downs_ == shut_downs_before) {
    drained_.Wait(&mu_);
  }
  return IdleLocked();
}

template <typename T, typename Hash, typename Eq>
void Queue<T, Hash, Eq>::BeginShutDown() {
  shutting_down_.store(true, std::memory_order_release);
  queued_.SignalAll();
}

template <typename T, typename Hash, typename Eq>
bool Queue<T, Hash, Eq>::ShuttingDown() const {
  return shutting_down_.load(std::memory_order_acquire);
}

}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_QUEUE_H_
