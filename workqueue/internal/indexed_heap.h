// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/indexed_heap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_INDEXED_HEAP_H_
#define WORKQUEUE_INTERNAL_INDEXED_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "workqueue/internal/segmented_array.h"

namespace workqueue {
namespace internal {

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

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // The least slot. There must be one.
  const Slot& front() const { return At(0); }

  const Slot& operator[](Index index) const { return At(index); }

  // Makes sure that pushing allocates nothing, and so does not throw, as long
  // as there are no more than `size` slots.
  void Reserve(size_t size) { slots_.Reserve(kRoot + size); }

  // Makes sure of that for the next `Push()`.
  void ReserveOne() { Reserve(size_ + 1); }

  void Push(const Slot& slot) {
    ReserveOne();
    SiftUp(size_++, slot);
  }

  // Puts `slot` in instead of the one at `index`.
  void Replace(Index index, const Slot& slot) { Sift(index, slot); }

  // Removes the slot at `index`.
  void Remove(Index index) {
    const Slot last = At(--size_);
    if (index < size_) Sift(index, last);
  }

  // Gives back memory if there is no slot. `Reserve()` begins anew.
  void ReleaseIfEmpty() {
    constexpr size_t kKeep = 1024;
    if (empty() && slots_.capacity() > kKeep) Clear();
  }

  // Removes all slots, and gives back the memory.
  void Clear() {
    slots_.Clear();
    size_ = 0;
  }

  // Calls `visit(const Slot&)` for each slot, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    for (size_t i = 0; i < size_; ++i) visit(At(i));
  }

 private:
  static constexpr size_t kArity = 4;
  // Where the first slot is in slots_, so that the children of each begin at a
  // multiple of `kArity`: they are in one segment, and if they are as large as
  // a cache line, in one of those.
  static constexpr size_t kRoot = kArity - 1;

  const Slot& At(size_t index) const { return slots_[kRoot + index]; }

  void Put(size_t index, const Slot& slot) {
    slots_[kRoot + index] = slot;
    set_index_(slot, static_cast<Index>(index));
  }

  // Puts `slot` where it belongs, which may be above or below `index`.
  void Sift(size_t index, const Slot& slot) {
    if (index > 0 && slot < At((index - 1) / kArity)) {
      SiftUp(index, slot);
    } else {
      SiftDown(index, slot);
    }
  }

  // Puts `slot` at `index` or, as far as it goes before what is there, above.
  void SiftUp(size_t index, const Slot& slot) {
    while (index > 0) {
      const size_t parent = (index - 1) / kArity;
      if (!(slot < At(parent))) break;
      Put(index, At(parent));
      index = parent;
    }
    Put(index, slot);
  }

  // Puts `slot` at `index` or, as far as something there goes before it, below.
  void SiftDown(size_t index, const Slot& slot) {
    while (true) {
      const size_t first = index * kArity + 1;
      if (first >= size_) break;
      const Slot* const begin = &At(first);
      const Slot* const end = begin + std::min(kArity, size_ - first);
      const Slot* const least = std::min_element(begin, end);
      if (!(*least < slot)) break;
      Put(index, *least);
      index = first + (least - begin);
    }
    Put(index, slot);
  }

  SetIndex set_index_;
  SegmentedArray<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_INDEXED_HEAP_H_
