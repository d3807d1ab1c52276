// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/waiting_heap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/entry_table.h"

namespace workqueue {
namespace internal {

// WaitingHeap
//
// The items that wait for their time, each once: a heap by ready time, and a
// table that finds an item's place in it. Items ready at the same time come in
// the order in which they were inserted.
//
// Inserting and removing take O(log n), looking at the next one O(1). The heap
// has four children to a node: half the levels of a binary one, and the
// children lie next to each other in memory.
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
    ReserveOne();
    auto [entry, is_new] = entries_.FindOrInsert(std::forward<U>(item), hash);
    if (is_new) {
      heap_.push_back({});
      SiftUp(heap_.size() - 1, {ready_at, next_sequence_++, entry});
    } else {
      const Slot& slot = heap_[entry->index];
      if (ready_at < slot.ready_at) {
        SiftUp(entry->index, {ready_at, next_sequence_++, entry});
      }
    }
  }

  // The item that is ready first, and when. There must be one.
  const T& NextItem() const { return heap_.front().entry->item(); }
  absl::Time NextReadyAt() const { return heap_.front().ready_at; }

  // Removes the item that is ready first.
  void PopNext() {
    entries_.Erase(heap_.front().entry);
    const Slot last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) SiftDown(0, last);
  }

  // Has the item that is ready first wait until `ready_at`, which is later.
  void PostponeNext(absl::Time ready_at) {
    SiftDown(0, {ready_at, next_sequence_++, heap_.front().entry});
  }

  // Removes all items, and gives back the memory.
  void Clear() {
    std::vector<Slot>().swap(heap_);
    entries_.Clear();
  }

 private:
  static constexpr size_t kArity = 4;

  class Entry {
   public:
    template <typename U, typename = std::enable_if_t<
                              !std::is_same<std::decay_t<U>, Entry>::value>>
    explicit Entry(U&& item) : item_(std::forward<U>(item)) {}

    const T& item() const { return item_; }

    size_t hash = 0;
    size_t index = 0;  // in heap_

   private:
    const T item_;
  };

  // The time is kept here, not in the entry, so that sifting need not look at
  // entries that do not move.
  struct Slot {
    absl::Time ready_at;
    int64_t sequence;
    Entry* entry;

    bool Before(const Slot& other) const {
      return ready_at != other.ready_at ? ready_at < other.ready_at
                                        : sequence < other.sequence;
    }
  };

  // Makes sure that the next push_back() does not allocate.
  void ReserveOne() {
    if (heap_.size() == heap_.capacity()) heap_.reserve(2 * heap_.size() + 16);
  }

  void Put(size_t index, const Slot& slot) {
    heap_[index] = slot;
    slot.entry->index = index;
  }

  // Puts `slot` at `index` or, as far as it goes before what is there, above.
  void SiftUp(size_t index, const Slot& slot) {
    while (index > 0) {
      const size_t parent = (index - 1) / kArity;
      if (!slot.Before(heap_[parent])) break;
      Put(index, heap_[parent]);
      index = parent;
    }
    Put(index, slot);
  }

  // Puts `slot` at `index` or, as far as something there goes before it, below.
  void SiftDown(size_t index, const Slot& slot) {
    while (true) {
      const size_t first = index * kArity + 1;
      if (first >= heap_.size()) break;
      const auto begin = heap_.begin() + first;
      const auto end = heap_.begin() + std::min(first + kArity, heap_.size());
      const auto least = std::min_element(
          begin, end, [](const Slot& a, const Slot& b) { return a.Before(b); });
      if (!least->Before(slot)) break;
      const size_t child = least - heap_.begin();
      Put(index, heap_[child]);
      index = child;
    }
    Put(index, slot);
  }

  std::vector<Slot> heap_;
  workqueue_internal::EntryTable<T, Entry, Hash, Eq> entries_;
  int64_t next_sequence_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_HEAP_H_
