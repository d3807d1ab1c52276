// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/indexed_heap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_INDEXED_HEAP_H_
#define WORKQUEUE_BASE_INDEXED_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace workqueue_internal {

// IndexedHeap
//
// A heap of entries, the one with the least key in front. An entry knows its
// place, so that any of them can be moved or removed. `Entry` has a member
// `size_t heap_index` for the heap's use; the heap does not own it, and it is
// in one heap at a time. `Key` is copied without throwing, and has `<`.
//
// Pushing, moving and removing take O(log n), looking at the front O(1). A node
// has four children: half the levels of a binary heap, and the children lie
// next to each other in memory. Keys are kept in the heap, so that sifting need
// not look at entries that do not move.
//
// Not thread-safe.
template <typename Key, typename Entry>
class IndexedHeap {
 public:
  bool empty() const { return slots_.empty(); }
  size_t size() const { return slots_.size(); }
  size_t capacity() const { return slots_.capacity(); }

  // The entry with the least key, and the key. There must be one.
  Entry* front() const { return slots_.front().entry; }
  const Key& front_key() const { return slots_.front().key; }

  // The key of `entry`, which is in the heap.
  const Key& key(const Entry* entry) const {
    return slots_[entry->heap_index].key;
  }

  // Makes sure that pushing allocates nothing, and so does not throw, as long
  // as there are no more than `size` entries.
  void Reserve(size_t size) {
    if (size > slots_.capacity()) {
      slots_.reserve(std::max(size, 2 * slots_.size() + 16));
    }
  }

  // Makes sure of that for the next `Push()`.
  void ReserveOne() { Reserve(slots_.size() + 1); }

  void Push(const Key& key, Entry* entry) {
    slots_.push_back({key, entry});
    SiftUp(slots_.size() - 1, {key, entry});
  }

  // Gives `entry`, which is in the heap, another key.
  void SetKey(Entry* entry, const Key& key) {
    Sift(entry->heap_index, {key, entry});
  }

  // Removes `entry`, which is in the heap.
  void Remove(Entry* entry) {
    const size_t index = entry->heap_index;
    const Slot last = slots_.back();
    slots_.pop_back();
    if (index < slots_.size()) Sift(index, last);
  }

  // Removes all entries, and gives back the memory.
  void Clear() { std::vector<Slot>().swap(slots_); }

  // Calls `visit(const Key&, const Entry&)` for each entry, in no particular
  // order.
  template <typename F>
  void ForEach(F visit) const {
    for (const Slot& slot : slots_) visit(slot.key, *slot.entry);
  }

 private:
  static constexpr size_t kArity = 4;

  struct Slot {
    Key key;
    Entry* entry;
  };

  static bool Less(const Slot& a, const Slot& b) { return a.key < b.key; }

  void Put(size_t index, const Slot& slot) {
    slots_[index] = slot;
    slot.entry->heap_index = index;
  }

  // Puts `slot` where it belongs, which may be above or below `index`.
  void Sift(size_t index, const Slot& slot) {
    if (index > 0 && Less(slot, slots_[(index - 1) / kArity])) {
      SiftUp(index, slot);
    } else {
      SiftDown(index, slot);
    }
  }

  // Puts `slot` at `index` or, as far as it goes before what is there, above.
  void SiftUp(size_t index, const Slot& slot) {
    while (index > 0) {
      const size_t parent = (index - 1) / kArity;
      if (!Less(slot, slots_[parent])) break;
      Put(index, slots_[parent]);
      index = parent;
    }
    Put(index, slot);
  }

  // Puts `slot` at `index` or, as far as something there goes before it, below.
  void SiftDown(size_t index, const Slot& slot) {
    while (true) {
      const size_t first = index * kArity + 1;
      if (first >= slots_.size()) break;
      const auto begin = slots_.begin() + first;
      const auto end = slots_.begin() + std::min(first + kArity, slots_.size());
      const auto least = std::min_element(begin, end, Less);
      if (!Less(*least, slot)) break;
      const size_t child = least - slots_.begin();
      Put(index, slots_[child]);
      index = child;
    }
    Put(index, slot);
  }

  std::vector<Slot> slots_;
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_INDEXED_HEAP_H_
