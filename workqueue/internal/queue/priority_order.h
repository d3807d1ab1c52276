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
// The queued items of a `PriorityQueue`: a heap that is sorted by priority and,
// within a priority, by sequence number. This class is the `Order` of a
// `QueueCore`.
//
// The heap has memory for all items that are dirty or being processed. The
// reason is that the end of an item's processing may insert the item into the
// heap and must not throw.
template <typename T>
class PriorityOrder {
 public:
  // An item may also wait for its time. A waiting item is in another heap,
  // which is not part of this class.
  struct Entry : QueueEntry<T> {
    using QueueEntry<T>::QueueEntry;

    bool InUse() const { return QueueEntry<T>::InUse() || waiting; }

    bool waiting = false;  // never true if dirty
    int64_t sequence = 0;  // the place within the priority
    uint32_t heap_index = 0;
    int handed_out_priority = 0;  // valid while being processed
  };

  static constexpr bool kHasPriorities = true;

  size_t size() const { return heap_.size(); }

  // Allocates memory for one more entry that is dirty or being processed. No
  // other function throws.
  void ReserveOneMore() { heap_.Reserve(places_ + 1); }

  // Called when `entry` has become dirty.
  void OnDirty(Entry* entry) {
    if (entry->processing) return;
    ++places_;
    Insert(entry);
  }

  // Called when the priority, the sequence or the address of `entry`, which is
  // in the order, has changed.
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

  // Inserts `entry` before all other entries of its priority. This is the
  // priority at which `entry` was handed out or, if its item was added again at
  // a higher one, that priority.
  void GiveBack(Entry* entry, bool added_again) {
    entry->set_priority(
        added_again ? std::max(entry->priority(), entry->handed_out_priority)
                    : entry->handed_out_priority);
    entry->sequence = --front_sequence_;
    Insert(entry);
  }

  void OnDone(Entry*) { --places_; }

  // Frees memory if there is much more than the entries need that are dirty or
  // being processed.
  void Shrink() { heap_.Shrink(places_); }

  // If there are more than `max` entries, visits the first `max` of them in
  // order. Otherwise visits all of them in no particular order, which stays the
  // same until the next change.
  template <typename F>
  bool ForFirst(size_t max, F visit) const {
    if (max >= size()) {
      heap_.ForEach([&visit](const Slot& slot) { visit(*slot.entry); });
    } else if (max > 0) {
      heap_.VisitInOrder([&max, &visit](const Slot& slot) {
        visit(*slot.entry);
        return --max > 0;
      });
    }
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
  // The sequence of the entry that was given back last. It is negative. The
  // sequences of added entries start at zero.
  int64_t front_sequence_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_PRIORITY_ORDER_H_
