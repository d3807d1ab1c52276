// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/queue/waiting_items.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_QUEUE_WAITING_ITEMS_H_
#define WORKQUEUE_INTERNAL_QUEUE_WAITING_ITEMS_H_

#include <cstddef>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/node_hash_set.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace internal {

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
template <typename T, typename Hash, typename Eq>
class WaitingItems {
 public:
  // A waiting item.
  using Entry = internal::ItemNode<T>;

  // Makes an empty object on `clock`, which is not owned.
  WaitingItems(const WaitingSetOptions& options, Clock* clock)
      : set_(options, clock) {}

  size_t size() const { return set_.size(); }

  // Makes `item`, an lvalue or an rvalue, wait until `due_at`. If `item`
  // already waits, the earlier of the two times counts, and `item` is not moved
  // from.
  template <typename U>
  void Insert(U&& item, size_t hash, absl::Time due_at, absl::Time now) {
    set_.Reserve(table_.NextId(), due_at);
    const auto [entry, is_new] =
        table_.FindOrInsert(std::forward<U>(item), hash);
    if (is_new) {
      set_.Insert(entry->id(), due_at, now);
    } else if (due_at < set_.DueAt(entry->id())) {
      set_.Move(entry->id(), due_at, now);
    }
  }

  // Makes `item` wait until `due_at`, whether or not it already waits. Returns
  // the time at which `Due()` must be called for `item`.
  absl::Time InsertOrMove(const T& item, size_t hash, absl::Time due_at,
                          absl::Time now) {
    set_.Reserve(table_.NextId(), due_at);
    const auto [entry, is_new] = table_.FindOrInsert(item, hash);
    return is_new ? set_.Insert(entry->id(), due_at, now)
                  : set_.Move(entry->id(), due_at, now);
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
    if (ABSL_PREDICT_FALSE(table_.CompactionDue())) Compact();
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

  // Calls `visit(item, due_at)` for each item, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    table_.ForEach([this, &visit](const Entry& entry) {
      visit(entry.item(), set_.DueAt(entry.id()));
    });
  }

 private:
  // Frees memory that the items do not need. May move an entry.
  ABSL_ATTRIBUTE_NOINLINE void Compact() {
    if (Entry* const from = table_.NextToMove()) {
      const SlabId id = from->id();
      set_.Renumber(id, table_.Move(from)->id());
    }
    set_.Shrink(table_.id_limit());
  }

  WaitingSet set_;
  internal::NodeHashSet<T, Entry, Hash, Eq> table_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_WAITING_ITEMS_H_
