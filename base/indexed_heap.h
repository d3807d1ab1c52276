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
#include <cstdint>
#include <utility>
#include <vector>

namespace workqueue_internal {

// IndexedHeap
//
// A heap of slots, the least one in front. Its owner is told where each slot
// is, so that any of them can be replaced or removed. `Slot` is copied without
// throwing, and has `<`. `SetIndex` is called as `set_index(slot, index)`
// whenever a slot has come to another index, and throws nothing.
//
// Pushing, replacing and removing take O(log n), looking at the front O(1). A
// node has four children: half the levels of a binary heap, and the children
// lie next to each other in memory. What slots are compared by is in them, so
// that sifting need not look at what they stand for.
//
// Not thread-safe.
template <typename Slot, typename SetIndex>
class IndexedHeap {
 public:
  using Index = uint32_t;

  explicit IndexedHeap(SetIndex set_index = SetIndex())
      : set_index_(std::move(set_index)) {}

  bool empty() const { return slots_.empty(); }
  size_t size() const { return slots_.size(); }

  // The least slot. There must be one.
  const Slot& front() const { return slots_.front(); }

  const Slot& operator[](Index index) const { return slots_[index]; }

  // Makes sure that pushing allocates nothing, and so does not throw, as long
  // as there are no more than `size` slots.
  void Reserve(size_t size) {
    if (size > slots_.capacity()) {
      slots_.reserve(std::max(size, 2 * slots_.capacity() + 16));
    }
  }

  // Makes sure of that for the next `Push()`.
  void ReserveOne() { Reserve(slots_.size() + 1); }

  void Push(const Slot& slot) {
    slots_.push_back(slot);
    SiftUp(slots_.size() - 1, slot);
  }

  // Puts `slot` in instead of the one at `index`.
  void Replace(Index index, const Slot& slot) { Sift(index, slot); }

  // Removes the slot at `index`.
  void Remove(Index index) {
    const Slot last = slots_.back();
    slots_.pop_back();
    if (index < slots_.size()) Sift(index, last);
  }

  // Gives back memory if there is no slot. `Reserve()` begins anew.
  void ReleaseIfEmpty() {
    constexpr size_t kKeep = 1024;
    if (empty() && slots_.capacity() > kKeep) Clear();
  }

  // Removes all slots, and gives back the memory.
  void Clear() { std::vector<Slot>().swap(slots_); }

  // Calls `visit(const Slot&)` for each slot, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    for (const Slot& slot : slots_) visit(slot);
  }

 private:
  static constexpr size_t kArity = 4;

  void Put(size_t index, const Slot& slot) {
    slots_[index] = slot;
    set_index_(slot, static_cast<Index>(index));
  }

  // Puts `slot` where it belongs, which may be above or below `index`.
  void Sift(size_t index, const Slot& slot) {
    if (index > 0 && slot < slots_[(index - 1) / kArity]) {
      SiftUp(index, slot);
    } else {
      SiftDown(index, slot);
    }
  }

  // Puts `slot` at `index` or, as far as it goes before what is there, above.
  void SiftUp(size_t index, const Slot& slot) {
    while (index > 0) {
      const size_t parent = (index - 1) / kArity;
      if (!(slot < slots_[parent])) break;
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
      const auto least = std::min_element(begin, end);
      if (!(*least < slot)) break;
      const size_t child = least - slots_.begin();
      Put(index, slots_[child]);
      index = child;
    }
    Put(index, slot);
  }

  SetIndex set_index_;
  std::vector<Slot> slots_;
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_INDEXED_HEAP_H_
