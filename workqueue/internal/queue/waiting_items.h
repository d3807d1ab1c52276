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

#include "absl/time/time.h"
#include "workqueue/internal/node_hash_set.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace internal {

// WaitingItems
//
// The items that wait for their time, each once: a `WaitingSet` and a table
// that finds an item in it.
//
// Times are the set's: a timing wheel rounds them up to its ticks.
//
// If copying, comparing or allocating throws, nothing has changed.
//
// Not thread-safe.
template <typename T, typename Hash, typename Eq>
class WaitingItems {
 public:
  // An item that waits.
  using Entry = internal::ItemNode<T>;

  WaitingItems(const WaitingSetOptions& options, absl::Time now)
      : set_(options, now) {}

  size_t size() const { return set_.size(); }

  // Has `item`, which hashes to `hash`, wait until `due_at`. If it waits
  // already, the earlier of the two times counts, and it is not moved from. It
  // is `now`.
  void Insert(T&& item, size_t hash, absl::Time due_at, absl::Time now) {
    set_.Reserve(table_.NextId(), due_at);
    const auto [entry, is_new] = table_.FindOrInsert(std::move(item), hash);
    if (is_new) {
      set_.Insert(entry->id(), due_at, now);
    } else if (due_at < set_.DueAt(entry->id())) {
      set_.Move(entry->id(), due_at, now);
    }
  }

  // Has `item`, which hashes to `hash`, wait until `due_at`, whether or not it
  // waits already. Returns when to call `Due()` next on its account. It is
  // `now`.
  absl::Time InsertOrMove(const T& item, size_t hash, absl::Time due_at,
                          absl::Time now) {
    set_.Reserve(table_.NextId(), due_at);
    const auto [entry, is_new] = table_.FindOrInsert(item, hash);
    return is_new ? set_.Insert(entry->id(), due_at, now)
                  : set_.Move(entry->id(), due_at, now);
  }

  // Returns the entry of `item`, which hashes to `hash`; null if it does not
  // wait.
  Entry* Find(const T& item, size_t hash) const {
    return table_.Find(item, hash);
  }

  // Has the item of `entry` wait until `due_at`. It is `now`. Throws nothing.
  void Postpone(Entry* entry, absl::Time due_at, absl::Time now) {
    set_.Move(entry->id(), due_at, now);
  }

  // Removes the item of `entry`. Throws nothing.
  void Remove(Entry* entry) {
    set_.Remove(entry->id());
    table_.Erase(entry);
  }

  // Removes all items, and gives back the memory. Throws nothing.
  void Clear() {
    set_.Clear();
    table_.Clear();
  }

  // Returns the entry that comes first of those due at `now`; null if none is.
  Entry* Due(absl::Time now) {
    const internal::SlabId id = set_.Due(now);
    return id == internal::kNoSlabId ? nullptr : table_.At(id);
  }

  // Returns when to call `Due()` next; infinitely late if there is no need.
  absl::Time NextWake() const { return set_.NextWake(); }

  // Calls `visit(item, due_at)` for each item, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    table_.ForEach([this, &visit](const Entry& entry) {
      visit(entry.item(), set_.DueAt(entry.id()));
    });
  }

 private:
  WaitingSet set_;
  internal::NodeHashSet<T, Entry, Hash, Eq> table_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_QUEUE_WAITING_ITEMS_H_
