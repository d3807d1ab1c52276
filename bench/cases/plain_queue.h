// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/plain_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_CASES_PLAIN_QUEUE_H_
#define WORKQUEUE_BENCH_CASES_PLAIN_QUEUE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "workqueue/base/mutex_lock.h"

namespace workqueue {

// PlainQueue
//
// This class is a queue that deduplicates, as client-go implements it: a set of
// dirty items, a set of items that are being processed, and a queue. It
// consists of plain parts: Abseil's hash sets, a `std::deque` and a lock. It
// has no delays, options, metrics or shutdown, and any exception breaks it. A
// lease is a copy of the item.
template <typename T>
class PlainQueue {
 public:
  using Lease = std::optional<T>;
  class Leases;

  void Add(const T& item) {
    {
      MutexLock lock(&mu_);
      AddLocked(item);
    }
    changed_.Signal();
  }

  void AddAll(absl::Span<const T> items) {
    {
      MutexLock lock(&mu_);
      for (const T& item : items) AddLocked(item);
    }
    changed_.SignalAll();
  }

  std::optional<T> Get() {
    MutexLock lock(&mu_);
    return HandOut();
  }

  void Done(const T& item) {
    MutexLock lock(&mu_);
    Finish(item);
  }

  // Ends `*lease` first.
  void AcquireNext(Lease* lease) {
    MutexLock lock(&mu_);
    if (lease->has_value()) Finish(**lease);
    *lease = HandOut();
  }

  Leases AcquireUpTo(size_t max) { return Leases(this, max); }

  size_t Len() {
    MutexLock lock(&mu_);
    return queue_.size();
  }

 private:
  using MutexLock = internal::MutexLock;

  void AddLocked(const T& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!dirty_.insert(item).second) return;
    if (!processing_.contains(item)) queue_.push_back(item);
  }

  // Blocks until an item is queued, and returns it.
  T HandOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (queue_.empty()) changed_.Wait(&mu_);
    T item = std::move(queue_.front());
    queue_.pop_front();
    processing_.insert(item);
    dirty_.erase(item);
    return item;
  }

  // Ends the processing of `item`.
  void Finish(const T& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    processing_.erase(item);
    if (dirty_.contains(item)) queue_.push_back(item);
  }

  absl::Mutex mu_;
  absl::CondVar changed_;  // signalled when an item is queued
  absl::flat_hash_set<T> dirty_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<T> processing_ ABSL_GUARDED_BY(mu_);
  std::deque<T> queue_ ABSL_GUARDED_BY(mu_);
};

template <typename T>
class PlainQueue<T>::Leases {
 public:
  Leases(PlainQueue* queue, size_t max) : queue_(queue) {
    MutexLock lock(&queue_->mu_);
    do {
      items_.push_back(queue_->HandOut());
    } while (items_.size() < max && !queue_->queue_.empty());
  }

  ~Leases() {
    MutexLock lock(&queue_->mu_);
    for (const T& item : items_) queue_->Finish(item);
  }

 private:
  PlainQueue* const queue_;
  std::vector<T> items_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_PLAIN_QUEUE_H_
