// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_PRIORITY_ORDER_H_
#define WORKQUEUE_INTERNAL_PRIORITY_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/cleanup/cleanup.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_order.h"
#include "workqueue/internal/queue_state.h"

namespace workqueue::internal {

// PriorityOrder
//
// The queued items of a `PriorityQueue`: in the user's `Ordering` or, without
// an ordering, sorted by priority and, within a priority, by sequence number.
// This class is the `Order` of a `QueueCore`.
//
// With an ordering, this class is a `QueueOrder`. Without one, an entry that
// comes after all entries of a sorted list, or before them, goes there, and any
// other entry to a heap. So if all priorities are equal, this class is a list.
//
// The heap has memory for all items that are dirty or being processed. The
// reason is that the end of an item's processing may insert the item into the
// heap and must not throw.
template <typename T>
class PriorityOrder : private QueueOrder<T> {
  using Base = QueueOrder<T>;

 public:
  // An item may also wait for its time. This class does not know when.
  struct Entry : QueueEntry<T> {
    using QueueEntry<T>::QueueEntry;

    bool InUse() const { return QueueEntry<T>::InUse() || waiting; }

    using QueuedItem<T>::set_is_retry;

    bool waiting = false;  // never true if dirty
    bool in_list = false;
    // Valid while being processed.
    bool handed_out_as_retry = false;
    int handed_out_priority = 0;
    uint32_t heap_index = 0;  // if in no list
    int64_t sequence = 0;     // the place within the priority
  };

  // How an item was added.
  struct Place {
    int priority;
    bool is_retry;
    int64_t sequence;
  };

  using QueueInterface = PriorityInterface<T>;

  static constexpr bool kHasPriorities = true;

  using Base::Base;
  using Base::Bounds;
  using Base::may_throw;
  using Base::Touch;

  static Place PlaceOf(const Entry& entry) {
    return {entry.priority(), entry.is_retry(), entry.sequence};
  }

  static void Set(Entry* entry, const Place& place) {
    entry->set_priority(place.priority);
    entry->set_is_retry(place.is_retry);
    entry->sequence = place.sequence;
  }

  bool has_ordering() const { return ABSL_PREDICT_FALSE(may_throw()); }

  size_t size() const { return Base::size() + heap_.size(); }

  NextItem next() const {
    return heap_.empty() ? Base::next() : NextItem::kReady;
  }

  // Prepares `Add()`, if there is no ordering. Throws if there is no memory.
  // Then nothing has changed.
  void ReserveForAdd() { heap_.Reserve(places_ + 1); }

  // Prepares `Add()`, if there is an ordering. Throws what the ordering throws.
  // Then nothing has changed. No other function of this class throws.
  void PushToOrdering(Entry* entry, const Place& place) {
    if (entry->processing) return;
    absl::Cleanup undo = [entry, before = PlaceOf(*entry)] {
      Set(entry, before);
    };
    Set(entry, place);
    Base::Push(entry);
    std::move(undo).Cancel();
  }

  // Adds `entry`, which becomes dirty, at `place`. One of the two functions
  // above must have prepared this.
  void Add(Entry* entry, const Place& place) {
    Set(entry, place);
    if (entry->processing) return;
    ++places_;
    if (!has_ordering()) Insert(entry);
  }

  // As `Touch()`, and moves `entry` to `place`.
  void Move(Entry* entry, const Place& place, ErrorLog& errors) {
    if (has_ordering()) {
      Base::Move(
          entry, [entry, &place] { Set(entry, place); }, errors);
      return;
    }
    if (!entry->processing) Remove(entry);
    Set(entry, place);
    if (!entry->processing) Insert(entry);
  }

  void OnMoved(Entry* entry) {
    if (has_ordering() || entry->in_list) {
      Base::OnMoved(entry);
    } else {
      heap_.Replace(entry->heap_index, SlotOf(entry));
    }
  }

  void PushBack(Entry* entry, ErrorLog& errors) {
    if (has_ordering()) {
      Base::PushBack(entry, errors);
    } else {
      Insert(entry);
    }
  }

  Entry* Pop() {
    Entry* entry;
    if (has_ordering()) {
      entry = PopOrdered();
    } else {
      entry = ListFront();
      if (ABSL_PREDICT_FALSE(!heap_.empty()) &&
          (entry == nullptr || Before(heap_.front().entry, entry))) {
        entry = heap_.front().entry;
      }
      Remove(entry);
    }
    entry->handed_out_priority = entry->priority();
    entry->handed_out_as_retry = entry->is_retry();
    return entry;
  }

  void PutBack(Entry* entry) {
    if (has_ordering()) {
      Base::PutBack(entry);
    } else {
      Insert(entry);
    }
  }

  // Inserts `entry` before all other entries of its priority or, with an
  // ordering, before all others. Its priority is the one at which it was handed
  // out or, if its item was added again at a higher one, that priority.
  void GiveBack(Entry* entry, bool added_again) {
    Place place = {entry->handed_out_priority, entry->handed_out_as_retry,
                   --front_sequence_};
    if (added_again) {
      place.priority = (std::max)(place.priority, entry->priority());
      place.is_retry = place.is_retry && entry->is_retry();
    }
    Set(entry, place);
    if (has_ordering()) {
      Base::GiveBack(entry, added_again);
    } else {
      Insert(entry);
    }
  }

  void OnDone(Entry* entry) {
    --places_;
    Base::OnDone(entry);
  }

  // Frees memory if there is much more than the entries need that are dirty or
  // being processed.
  void Shrink() { heap_.Shrink(has_ordering() ? 0 : places_); }

  // If there are more than `max` entries, visits the first `max` of them in
  // order. Otherwise visits all of them: with an ordering in order, and without
  // one in no particular order, which stays the same until the next change.
  // Returns false if the ordering does not tell the order.
  template <typename F>
  bool ForFirst(size_t max, F visit) const {
    if (has_ordering()) {
      return Base::ForFirst(max, [&visit](const QueuedItem<T>& item) {
        visit(static_cast<const Entry&>(item));
      });
    }
    const Entry* next = ListFront();
    // Visits what comes before `end` in the list; if `end` is null, the rest.
    const auto visit_list = [&](const Entry* end) {
      while (next != nullptr && max > 0 &&
             (end == nullptr || Before(next, end))) {
        visit(*next);
        next = static_cast<const Entry*>(next->next());
        --max;
      }
      return max > 0;
    };
    if (max >= size()) {
      heap_.ForEach([&visit](const Slot& slot) { visit(*slot.entry); });
    } else if (!heap_.empty() && max > 0) {
      heap_.VisitInOrder([&](const Slot& slot) {
        if (!visit_list(slot.entry)) return false;
        visit(*slot.entry);
        return --max > 0;
      });
    }
    visit_list(nullptr);
    return true;
  }

 private:
  using Base::list_;  // sorted, if there is no ordering

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

  // Not inline, so that the compiler has room for the code without an ordering.
  ABSL_ATTRIBUTE_NOINLINE Entry* PopOrdered() {
    return static_cast<Entry*>(Base::Pop());
  }

  Entry* ListFront() const { return static_cast<Entry*>(list_.front()); }

  static bool Before(const Entry* a, const Entry* b) {
    return a->priority() != b->priority() ? a->priority() > b->priority()
                                          : a->sequence < b->sequence;
  }

  void Insert(Entry* entry) {
    entry->in_list = true;
    if (list_.empty() || Before(static_cast<Entry*>(list_.back()), entry)) {
      list_.PushBack(entry);
    } else if (Before(entry, ListFront())) {
      list_.PushFront(entry);
    } else {
      entry->in_list = false;
      heap_.Push(SlotOf(entry));
    }
  }

  // Removes `entry`, which is in the list or in the heap.
  void Remove(Entry* entry) {
    if (entry->in_list) {
      list_.Remove(entry);
    } else {
      heap_.Remove(entry->heap_index);
    }
  }

  // Empty if there is an ordering.
  internal::IndexedHeap<Slot, SetIndex> heap_;
  // The number of entries that are dirty or being processed.
  size_t places_ = 0;
  // The sequence of the entry that was given back last. It is negative. The
  // sequences of added entries start at zero.
  int64_t front_sequence_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_PRIORITY_ORDER_H_
