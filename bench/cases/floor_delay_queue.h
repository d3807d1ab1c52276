// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/floor_delay_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_CASES_FLOOR_DELAY_QUEUE_H_
#define WORKQUEUE_BENCH_CASES_FLOOR_DELAY_QUEUE_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/slab.h"

namespace workqueue {

// FloorDelayQueue
//
// This class does the least that a delay queue can do. It has a heap, and takes
// a lock and reads the clock in each call. A handle is valid while its value is
// in the queue. Each value wakes all waiting threads.
template <typename T>
class FloorDelayQueue {
 private:
  struct Entry {
    explicit Entry(T v) : value(std::move(v)) {}

    T value;
    internal::SlabId id = 0;
    uint32_t heap_index = 0;
  };

 public:
  using Handle = Entry*;

  FloorDelayQueue() = default;
  ~FloorDelayQueue() {
    MutexLock lock(&mu_);
    while (!by_time_.empty()) Remove(by_time_.front().entry);
  }

  FloorDelayQueue(const FloorDelayQueue&) = delete;
  FloorDelayQueue& operator=(const FloorDelayQueue&) = delete;

  Handle Push(T value, absl::Duration delay) {
    const absl::Time due_at = absl::Now() + delay;
    Entry* entry;
    {
      MutexLock lock(&mu_);
      const internal::SlabId id = storage_.NextId();
      entry = storage_.New(std::move(value));
      entry->id = id;
      by_time_.Push({due_at, entry});
      if (by_time_.front().entry != entry) return entry;
    }
    earlier_.SignalAll();
    return entry;
  }

  T Take() {
    MutexLock lock(&mu_);
    while (true) {
      if (by_time_.empty()) {
        earlier_.Wait(&mu_);
      } else if (by_time_.front().due_at <= absl::Now()) {
        break;
      } else {
        earlier_.WaitWithDeadline(&mu_, by_time_.front().due_at);
      }
    }
    Entry* const due = by_time_.front().entry;
    T value = std::move(due->value);
    Remove(due);
    return value;
  }

  void Cancel(Handle entry) {
    MutexLock lock(&mu_);
    Remove(entry);
  }

 private:
  using MutexLock = internal::MutexLock;

  struct Slot {
    bool operator<(const Slot& other) const { return due_at < other.due_at; }

    absl::Time due_at;
    Entry* entry;
  };

  struct SetIndex {
    void operator()(const Slot& slot, uint32_t index) const {
      slot.entry->heap_index = index;
    }
  };

  void Remove(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    by_time_.Remove(entry->heap_index);
    storage_.Delete(entry->id);
  }

  absl::Mutex mu_;
  // Signalled when a new value is due before all others.
  absl::CondVar earlier_;
  internal::Slab<Entry> storage_ ABSL_GUARDED_BY(mu_);
  internal::IndexedHeap<Slot, SetIndex> by_time_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_FLOOR_DELAY_QUEUE_H_
