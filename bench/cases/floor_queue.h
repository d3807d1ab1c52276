// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/floor_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_CASES_FLOOR_QUEUE_H_
#define WORKQUEUE_BENCH_CASES_FLOOR_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"

namespace workqueue {

// FloorQueue
//
// This class does the least that a queue which deduplicates, delays and limits
// rates can do. It has one lock for each call, the hash table, the list of
// queued items, the heap of waiting items, and a second lock and table for the
// failures. It uses the library's own hash table, which bench/plain compares
// with plain tables. It has no layers, thread, options, metrics or shutdown,
// and any exception breaks it. A batch begins and ends with one lock for all
// its items.
template <typename T>
class FloorQueue {
 private:
  struct Entry;

 public:
  // The next `AcquireNext()` ends a lease.
  struct Lease {
    Entry* entry = nullptr;
  };
  class Leases;

  void Add(const T& item) {
    const size_t hash = Hash()(item);
    {
      MutexLock lock(&mu_);
      AddLocked(item, hash);
    }
    changed_.Signal();
  }

  void AddAll(absl::Span<const T> items) {
    {
      MutexLock lock(&mu_);
      for (const T& item : items) AddLocked(item, Hash()(item));
    }
    changed_.SignalAll();
  }

  void AddAfter(const T& item, absl::Duration delay) {
    const size_t hash = Hash()(item);
    const absl::Time ready_at = absl::Now() + delay;
    {
      MutexLock lock(&mu_);
      const auto [entry, is_new] = waiting_.FindOrInsert(item, hash);
      if (is_new) {
        by_time_.Push({ready_at, entry});
      } else if (ready_at < by_time_[entry->heap_index].ready_at) {
        by_time_.Replace(entry->heap_index, {ready_at, entry});
      }
      if (by_time_.front().entry != entry) return;
    }
    changed_.Signal();
  }

  void AddRateLimited(const T& item) {
    int failures;
    {
      MutexLock lock(&failures_mu_);
      failures = failures_[item]++;
    }
    AddAfter(item, absl::Nanoseconds(1) * (1 << std::min(failures, 30)));
  }

  void Forget(const T& item) {
    MutexLock lock(&failures_mu_);
    failures_.erase(item);
  }

  std::optional<T> Get() {
    MutexLock lock(&mu_);
    return HandOut()->item();
  }

  void Done(const T& item) {
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    Finish(entries_.Find(item, hash));
  }

  // Ends `*lease` first.
  void AcquireNext(Lease* lease) {
    MutexLock lock(&mu_);
    if (lease->entry != nullptr) Finish(lease->entry);
    lease->entry = HandOut();
  }

  Leases AcquireUpTo(size_t max) { return Leases(this, max); }

  size_t Len() {
    MutexLock lock(&mu_);
    return queued_.size();
  }

 private:
  using Eq = typename absl::flat_hash_set<T>::key_equal;
  using Hash = typename absl::flat_hash_set<T>::hasher;
  using MutexLock = internal::MutexLock;

  struct Entry : internal::ItemNode<T>, internal::IntrusiveLink<Entry> {
    using internal::ItemNode<T>::ItemNode;

    bool dirty = false;  // queued, or to be queued after its processing
    bool processing = false;
  };

  struct WaitingEntry : internal::ItemNode<T> {
    using internal::ItemNode<T>::ItemNode;

    uint32_t heap_index = 0;
  };

  struct Slot {
    bool operator<(const Slot& other) const {
      return ready_at < other.ready_at;
    }

    absl::Time ready_at;
    WaitingEntry* entry;
  };

  struct SetIndex {
    void operator()(const Slot& slot, uint32_t index) const {
      slot.entry->heap_index = index;
    }
  };

  void AddLocked(const T& item, size_t hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entry* const entry = entries_.FindOrInsert(item, hash).first;
    if (entry->dirty) return;
    entry->dirty = true;
    if (!entry->processing) queued_.PushBack(entry);
  }

  // Blocks until an item is queued, and removes it from the list.
  Entry* HandOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (queued_.empty()) AddDueOrWait();
    Entry* const entry = queued_.PopFront();
    entry->dirty = false;
    entry->processing = true;
    return entry;
  }

  void AddDueOrWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (by_time_.empty()) {
      changed_.Wait(&mu_);
      return;
    }
    const absl::Time now = absl::Now();
    if (by_time_.front().ready_at > now) {
      changed_.WaitWithDeadline(&mu_, by_time_.front().ready_at);
      return;
    }
    do {
      WaitingEntry* const due = by_time_.front().entry;
      AddLocked(due->item(), Hash()(due->item()));
      by_time_.Remove(due->heap_index);
      waiting_.Erase(due);
    } while (!by_time_.empty() && by_time_.front().ready_at <= now);
  }

  // Ends the processing of `entry`.
  void Finish(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    entry->processing = false;
    if (entry->dirty) {
      queued_.PushBack(entry);
    } else {
      entries_.Erase(entry);
    }
  }

  absl::Mutex mu_;
  // Signalled when an item is queued, or when an item has the earliest time.
  absl::CondVar changed_;
  internal::NodeHashSet<T, Entry, Eq> entries_ ABSL_GUARDED_BY(mu_);
  internal::IntrusiveList<Entry> queued_ ABSL_GUARDED_BY(mu_);
  internal::NodeHashSet<T, WaitingEntry, Eq> waiting_ ABSL_GUARDED_BY(mu_);
  internal::IndexedHeap<Slot, SetIndex> by_time_ ABSL_GUARDED_BY(mu_);

  absl::Mutex failures_mu_;
  absl::flat_hash_map<T, int> failures_ ABSL_GUARDED_BY(failures_mu_);
};

template <typename T>
class FloorQueue<T>::Leases {
 public:
  Leases(FloorQueue* queue, size_t max) : queue_(queue) {
    MutexLock lock(&queue_->mu_);
    do {
      entries_.PushBack(queue_->HandOut());
    } while (entries_.size() < max && !queue_->queued_.empty());
  }

  ~Leases() {
    MutexLock lock(&queue_->mu_);
    while (!entries_.empty()) queue_->Finish(entries_.PopFront());
  }

 private:
  FloorQueue* const queue_;
  internal::IntrusiveList<Entry> entries_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_FLOOR_QUEUE_H_
