// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/priority_order.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_
#define WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_

#include <algorithm>
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
// The heap has room for all items that are dirty or being processed: when the
// processing of an item ends, the item may be put in, and nothing may throw
// then.
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
    int handed_out_priority = 0;  // while it is being processed
  };

  static constexpr bool kHasPriorities = true;

  size_t size() const { return heap_.size(); }

  // Makes sure that one more entry can be dirty. The rest does not throw.
  void ReserveOneMore() { heap_.Reserve(places_ + 1); }

  // Gives back memory if no entry is dirty or being processed.
  void ReleaseIfUnused() {
    if (places_ == 0) heap_.ReleaseIfEmpty();
  }

  // `entry` has become dirty.
  void OnDirty(Entry* entry) {
    if (entry->processing) return;
    ++places_;
    Insert(entry);
  }

  // `entry`, which is in the order, has another priority or sequence now.
  void OnMoved(Entry* entry) {
    heap_.Replace(entry->heap_index, SlotOf(entry));
  }

  void PushBack(Entry* entry, ErrorLog&) { Insert(entry); }

  Entry* Pop() {
    Entry* const entry = heap_.front().entry;
    heap_.Remove(entry->heap_index);
    entry->handed_out_priority = entry->priority();
    return entry;
  }

  void PutBack(Entry* entry) { Insert(entry); }

  // Within its priority, `entry` comes first. If its item was added again, the
  // higher priority counts.
  void GiveBack(Entry* entry, bool added_again) {
    entry->set_priority(
        added_again ? std::max(entry->priority(), entry->handed_out_priority)
                    : entry->handed_out_priority);
    entry->sequence = --front_sequence_;
    Insert(entry);
  }

  void OnDone(Entry*) { --places_; }

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
  // The number of entries that are dirty or being processed.
  size_t places_ = 0;
  // The sequence of the entry that was given back last. Entries that are added
  // have sequences from zero on.
  int64_t front_sequence_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_
