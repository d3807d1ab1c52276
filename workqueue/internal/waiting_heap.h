// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/waiting_heap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "base/indexed_heap.h"

namespace workqueue {
namespace internal {

// What an entry of a `WaitingHeap` derives from.
template <typename Entry>
struct WaitingHeapEntry {
  size_t heap_index = 0;
};

// WaitingHeap
//
// Entries by the time at which they are due. Those due at the same time come in
// the order in which they were given that time. Inserting, moving and removing
// take O(log n), the others O(1).
//
// It does as `TimingWheel` does, to the nanosecond.
//
// The heap does not own its entries. Not thread-safe.
template <typename Entry>
class WaitingHeap {
 public:
  size_t size() const { return heap_.size(); }

  // Makes sure that inserting one for `due_at` does not throw.
  void Reserve(absl::Time /*due_at*/) { heap_.ReserveOne(); }

  // Puts in `entry`, which is due at `due_at`. Returns when to call `Due()`
  // next on its account. It is `now`.
  absl::Time Insert(Entry* entry, absl::Time due_at, absl::Time /*now*/) {
    heap_.Push(NewKey(due_at), entry);
    return due_at;
  }

  // Has `entry`, which is in the heap, be due at `due_at`. Returns when to call
  // `Due()` next on its account. It is `now`.
  absl::Time Move(Entry* entry, absl::Time due_at, absl::Time /*now*/) {
    heap_.SetKey(entry, NewKey(due_at));
    return due_at;
  }

  // Removes `entry`, which is in the heap. After a spike, the memory goes back
  // once the heap is empty.
  void Remove(Entry* entry) {
    constexpr size_t kKeep = 1024;
    heap_.Remove(entry);
    if (heap_.empty() && heap_.capacity() > kKeep) heap_.Clear();
  }

  // Removes all entries, and gives back the memory.
  void Clear() { heap_.Clear(); }

  // When `entry`, which is in the heap, is due.
  absl::Time DueAt(const Entry* entry) const { return heap_.key(entry).due_at; }

  // Returns the entry that comes first of those due at `now`; null if none is.
  Entry* Due(absl::Time now) const {
    return NextWake() <= now && !heap_.empty() ? heap_.front() : nullptr;
  }

  // Returns when to call `Due()` next; infinitely late if there is no need.
  absl::Time NextWake() const {
    return heap_.empty() ? absl::InfiniteFuture() : heap_.front_key().due_at;
  }

 private:
  struct Key {
    absl::Time due_at;
    uint64_t sequence;

    bool operator<(const Key& other) const {
      return due_at != other.due_at ? due_at < other.due_at
                                    : sequence < other.sequence;
    }
  };

  Key NewKey(absl::Time due_at) { return {due_at, next_sequence_++}; }

  workqueue_internal::IndexedHeap<Key, Entry> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_
