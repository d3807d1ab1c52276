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
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "base/entry_table.h"
#include "base/indexed_heap.h"

namespace workqueue {
namespace internal {

// WaitingHeap
//
// The items that wait for their time, each once: a heap by ready time, and a
// table that finds an item's place in it. Items ready at the same time come in
// the order in which they were given that time.
//
// Inserting, moving and removing take O(log n), looking at the next one O(1).
//
// If copying, comparing or allocating throws, nothing has changed.
//
// Not thread-safe.
template <typename T, typename Hash, typename Eq>
class WaitingHeap {
 public:
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }

  // Has `item`, which hashes to `hash`, wait until `ready_at`. If it waits
  // already, the earlier of the two times counts. `U` is `T`, const and by
  // reference or not.
  template <typename U>
  void Insert(U&& item, size_t hash, absl::Time ready_at) {
    const auto [entry, is_new] =
        FindOrPush(std::forward<U>(item), hash, ready_at);
    if (!is_new && ready_at < heap_.key(entry).ready_at) {
      heap_.SetKey(entry, NewKey(ready_at));
    }
  }

  // Has `item`, which hashes to `hash`, wait until `ready_at`, whether or not
  // it waits already.
  void InsertOrMove(const T& item, size_t hash, absl::Time ready_at) {
    const auto [entry, is_new] = FindOrPush(item, hash, ready_at);
    if (!is_new) heap_.SetKey(entry, NewKey(ready_at));
  }

  // Returns a handle to `item`, which hashes to `hash`; null if it does not
  // wait.
  class Entry;
  Entry* Find(const T& item, size_t hash) const {
    return entries_.Find(item, hash);
  }

  // Removes the item that `entry` is a handle to. Throws nothing.
  void Remove(Entry* entry) {
    heap_.Remove(entry);
    entries_.Erase(entry);
  }

  // The item that is ready first, and when. There must be one.
  const T& NextItem() const { return heap_.front()->item(); }
  absl::Time NextReadyAt() const { return heap_.front_key().ready_at; }

  // Removes the item that is ready first.
  void PopNext() { Remove(heap_.front()); }

  // Has the item that is ready first wait until `ready_at`.
  void PostponeNext(absl::Time ready_at) {
    heap_.SetKey(heap_.front(), NewKey(ready_at));
  }

  // Removes all items, and gives back the memory.
  void Clear() {
    heap_.Clear();
    entries_.Clear();
  }

  // Calls `visit(item, ready_at)` for each item, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    heap_.ForEach([&visit](const Key& key, const Entry& entry) {
      visit(entry.item(), key.ready_at);
    });
  }

 private:
  struct Key {
    absl::Time ready_at;
    int64_t sequence;

    bool operator<(const Key& other) const {
      return ready_at != other.ready_at ? ready_at < other.ready_at
                                        : sequence < other.sequence;
    }
  };

  Key NewKey(absl::Time ready_at) { return {ready_at, next_sequence_++}; }

  // Returns the entry of `item`, and whether it is a new one that waits until
  // `ready_at`.
  template <typename U>
  std::pair<Entry*, bool> FindOrPush(U&& item, size_t hash,
                                     absl::Time ready_at) {
    heap_.ReserveOne();
    const auto found = entries_.FindOrInsert(std::forward<U>(item), hash);
    if (found.second) heap_.Push(NewKey(ready_at), found.first);
    return found;
  }

  workqueue_internal::IndexedHeap<Key, Entry> heap_;
  workqueue_internal::EntryTable<T, Entry, Hash, Eq> entries_;
  int64_t next_sequence_ = 0;
};

template <typename T, typename Hash, typename Eq>
class WaitingHeap<T, Hash, Eq>::Entry {
 public:
  template <typename U, typename = std::enable_if_t<
                            !std::is_same<std::decay_t<U>, Entry>::value>>
  explicit Entry(U&& item) : item_(std::forward<U>(item)) {}

  const T& item() const { return item_; }

  size_t hash = 0;
  size_t heap_index = 0;

 private:
  const T item_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_
