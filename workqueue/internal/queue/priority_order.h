// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/priority_order.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_
#define WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_

#include <cstddef>
#include <cstdint>

#include "workqueue/internal/error_log.h"
#include "workqueue/internal/indexed_heap.h"
#include "workqueue/internal/queue/queue_core.h"

namespace workqueue {
namespace internal {

// PriorityOrder
//
// What is queued in a `PriorityQueue`: a heap by priority and, within one, by
// sequence number. The `Order` of a `QueueCore`.
//
// An item that is dirty and being processed is put in when it is done with,
// when nothing may throw. So there is room in the heap for all that is dirty.
template <typename T>
class PriorityOrder {
 public:
  // An item can also wait for its time, which is none of the order's business:
  // it is then in another heap.
  struct Entry : QueueEntry<T> {
    using QueueEntry<T>::QueueEntry;

    bool InUse() const { return QueueEntry<T>::InUse() || waiting; }

    bool waiting = false;  // never if dirty
    int64_t sequence = 0;  // its place within its priority
    uint32_t heap_index = 0;
  };

  static constexpr bool kHasPriorities = true;

  size_t size() const { return heap_.size(); }

  // Makes sure that one more can be dirty. The rest does not throw.
  void ReserveOneMore() { heap_.Reserve(dirty_ + 1); }

  // Gives back memory if nothing is dirty.
  void ReleaseIfUnused() {
    if (dirty_ == 0) heap_.ReleaseIfEmpty();
  }

  // `entry` has become dirty.
  void OnDirty(Entry* entry) {
    ++dirty_;
    if (!entry->processing) Insert(entry);
  }

  // `entry`, which is in the order, has got another priority or sequence.
  void OnMoved(Entry* entry) {
    heap_.Replace(entry->heap_index, SlotOf(entry));
  }

  void PushBack(Entry* entry, ErrorLog&) { Insert(entry); }

  Entry* Pop() {
    Entry* const entry = heap_.front().entry;
    heap_.Remove(entry->heap_index);
    --dirty_;
    return entry;
  }

  void PutBack(Entry* entry) {
    ++dirty_;
    Insert(entry);
  }

  // In no particular order, but always the same until there is a change.
  template <typename F>
  bool ForEach(F visit) const {
    heap_.ForEach([&visit](const Slot& slot) { visit(*slot.entry); });
    return true;
  }

 private:
  struct Slot {
    bool operator<(const Slot& other) const {
      return priority != other.priority ? priority > other.priority
                                        : sequence < other.sequence;
    }

    int priority;
    int64_t sequence;
    Entry* entry;
  };

  struct SetIndex {
    void operator()(const Slot& slot, uint32_t index) const {
      slot.entry->heap_index = index;
    }
  };

  static Slot SlotOf(Entry* entry) {
    return {entry->priority(), entry->sequence, entry};
  }

  void Insert(Entry* entry) { heap_.Push(SlotOf(entry)); }

  internal::IndexedHeap<Slot, SetIndex> heap_;
  size_t dirty_ = 0;  // in heap_, or to be put in when done with
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_
