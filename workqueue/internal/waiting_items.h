// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_WAITING_ITEMS_H_
#define WORKQUEUE_INTERNAL_WAITING_ITEMS_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::internal {

// WaitingItems
//
// The waiting items of a queue, each stored once: a `WaitingSet` and a hash
// table that finds an item's entry in the set.
//
// A `WaitingSet` with a timing wheel rounds times up to the ticks of the wheel.
//
// In each function, `hash` is the hash of `item`, and `now` is the current time
// (see `WaitingSet`). If copying, comparing or allocating throws, nothing has
// changed.
//
// Not thread-safe.
template <typename T, typename Eq>
class WaitingItems {
 public:
  // A waiting item.
  using Entry = internal::ItemNode<T>;

  // Makes an empty object on `clock`, which is not owned.
  WaitingItems(const WaitingSetOptions& options, Clock* clock)
      : set_(options, clock) {}

  size_t size() const { return set_.size(); }

  // Makes `item`, an lvalue or an rvalue, wait until `due_at`. If `item`
  // already waits, the earlier of the two times counts unless `even_later`, and
  // `item` is not moved from.
  template <typename U>
  void Insert(U&& item, size_t hash, absl::Time due_at, absl::Time now,
              bool even_later = false) {
    set_.Reserve(table_.NextId(), due_at);
    const auto [entry, is_new] =
        table_.FindOrInsert(std::forward<U>(item), hash);
    if (is_new) {
      set_.Insert(entry->id(), due_at, now);
    } else if (even_later || due_at < set_.DueAt(entry->id())) {
      set_.Move(entry->id(), due_at, now);
    }
  }

  // Returns the entry of `item`; null if `item` does not wait.
  Entry* Find(const T& item, size_t hash) const {
    return table_.Find(item, hash);
  }

  // Makes the item of `entry` wait until `due_at`. Does not throw.
  void Postpone(Entry* entry, absl::Time due_at, absl::Time now) {
    set_.Move(entry->id(), due_at, now);
  }

  // Removes the item of `entry`, and destroys the entry. May move another entry
  // to another address. Does not throw.
  void Remove(Entry* entry) {
    set_.Remove(entry->id());
    table_.Erase(entry);
    const bool compacted =
        table_.CompactIfDue([this](Entry* moved, SlabId from) {
          set_.Renumber(from, moved->id());
        });
    if (compacted) set_.Shrink(table_.id_limit());
  }

  // Removes all items, and frees the memory. Does not throw.
  void Clear() {
    set_.Clear();
    table_.Clear();
  }

  // Returns the first of the entries that are due at `now`; null if none is
  // due.
  Entry* Due(absl::Time now) {
    const internal::SlabId id = set_.Due(now);
    return id == internal::kNoSlabId ? nullptr : table_.At(id);
  }

  // Returns the time at which `Due()` must be called next;
  // `absl::InfiniteFuture()` if no item waits.
  absl::Time NextWake() const { return set_.NextWake(); }

  // Returns the time until which the item of `entry` waits.
  absl::Time DueAt(const Entry* entry) const { return set_.DueAt(entry->id()); }

  // If there are more than `max` items, calls `visit(item, due_at)` for the
  // `max` items that are due first, in the order of their times. Otherwise
  // calls it for each item, in no particular order.
  //
  // k calls out of n items take O(k log k) with a heap (see
  // `WaitingSet::VisitInOrder()`). With a timing wheel they take O(n log k):
  // the order is that of the wheel's slots, not of the times in a slot.
  template <typename F>
  void ForFirst(size_t max, F visit) const {
    if (max >= size()) {
      table_.ForEach([this, &visit](const Entry& entry) {
        visit(entry.item(), DueAt(&entry));
      });
      return;
    }
    if (max == 0) return;
    const auto visit_id = [this, &visit](SlabId id) {
      const Entry* const entry = table_.At(id);
      visit(entry->item(), DueAt(entry));
    };
    const bool has_order = set_.VisitInOrder([&max, &visit_id](SlabId id) {
      visit_id(id);
      return --max > 0;
    });
    if (has_order) return;
    for (const auto& [due_at, id] : FindFirst(max)) visit_id(id);
  }

 private:
  // Returns the `max` items that are due first, in the order of their times,
  // and of their ids within a time. Looks at all items. `max` must not be zero.
  std::vector<std::pair<absl::Time, SlabId>> FindFirst(size_t max) const {
    std::vector<std::pair<absl::Time, SlabId>> first;  // a heap: the last first
    first.reserve(max);
    table_.ForEach([this, max, &first](const Entry& entry) {
      const std::pair<absl::Time, SlabId> due(DueAt(&entry), entry.id());
      if (first.size() == max) {
        if (!(due < first.front())) return;
        std::pop_heap(first.begin(), first.end());
        first.pop_back();
      }
      first.push_back(due);
      std::push_heap(first.begin(), first.end());
    });
    std::sort_heap(first.begin(), first.end());
    return first;
  }

  WaitingSet set_;
  internal::NodeHashSet<T, Entry, Eq> table_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_WAITING_ITEMS_H_
