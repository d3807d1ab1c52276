// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_INDEXED_HEAP_H_
#define WORKQUEUE_BASE_INDEXED_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "workqueue/base/segmented_array.h"

namespace workqueue::internal {

// IndexedHeap
//
// This class is a heap of slots, with the least slot at the front. It reports
// the index of each slot to its owner, so that the owner can replace or remove
// any slot. `Slot` must be copyable without throwing, and must have `<`. The
// heap calls `set_index(slot, index)` whenever a slot has moved to another
// index; `SetIndex` must not throw.
//
// Pushing, replacing and removing take O(log n); reading the front takes O(1).
// A node has four children. So the heap has half the levels of a binary heap,
// and the children of a node are next to each other in memory. A slot contains
// the values that `<` compares, so that sifting touches slots only.
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

  // Allocates memory for `size` slots. Pushing allocates nothing, and so throws
  // nothing, while there are no more than `size` slots.
  void Reserve(size_t size) { slots_.Reserve(kRoot + size); }

  // Allocates memory for the next `Push()`.
  void ReserveOne() { Reserve(size_ + 1); }

  void Push(const Slot& slot) {
    ReserveOne();
    SiftUp(size_++, slot);
  }

  // Replaces the slot at `index` by `slot`.
  void Replace(Index index, const Slot& slot) {
    if (index > 0 && slot < At((index - 1) / kArity)) {
      SiftUp(index, slot);
    } else {
      SiftDown(index, slot);
    }
  }

  // Removes the slot at `index`.
  void Remove(Index index) {
    const Slot last = At(--size_);
    if (index < size_) Replace(index, last);
  }

  // Frees a part of the memory if there is much more than `size` slots need;
  // see `SegmentedArray::Shrink()`. `size` must be at least `size()`. After the
  // call, there is memory for `size` slots if there was before.
  void Shrink(size_t size) { slots_.Shrink(kRoot + size); }

  // Removes all slots, and frees the memory.
  void Clear() {
    slots_.Clear();
    size_ = 0;
  }

  // Calls `visit(const Slot&)` for each slot, in no particular order.
  template <typename F>
  void ForEach(F visit) const {
    for (size_t i = 0; i < size_; ++i) visit(At(i));
  }

  // Calls `visit(const Slot&)` for the slots in order, the least one first,
  // until `visit` returns false or there are no more. k calls take O(k log k),
  // for any number of slots. Allocates memory for O(k) indices.
  template <typename F>
  void VisitInOrder(F visit) const {
    // The indices of the slots that may come next: a binary heap in which
    // `after` puts the least slot first. All slots that have not been visited
    // are below these.
    const auto after = [this](size_t a, size_t b) { return At(b) < At(a); };
    std::vector<size_t> next;
    if (size_ > 0) next.push_back(0);
    while (!next.empty()) {
      std::pop_heap(next.begin(), next.end(), after);
      const size_t index = next.back();
      next.pop_back();
      if (!visit(At(index))) return;
      const size_t first = index * kArity + 1;
      for (size_t i = first; i < (std::min)(first + kArity, size_); ++i) {
        next.push_back(i);
        std::push_heap(next.begin(), next.end(), after);
      }
    }
  }

  // Calls `update(Slot&)` for each slot. The calls must keep the order of the
  // slots, or put the slots into the order of the calls.
  template <typename F>
  void UpdateAll(F update) {
    for (size_t i = 0; i < size_; ++i) update(slots_[kRoot + i]);
  }

 private:
  static constexpr size_t kArity = 4;
  // The index of the first slot in slots_. With it the children of each node
  // begin at a multiple of `kArity`: they are in one segment, and in one cache
  // line if they fit into one.
  static constexpr size_t kRoot = kArity - 1;

  const Slot& At(size_t index) const { return slots_[kRoot + index]; }

  void Put(size_t index, const Slot& slot) {
    slots_[kRoot + index] = slot;
    set_index_(slot, static_cast<Index>(index));
  }

  // Puts `slot` at `index`, or above if it is less than its parents.
  void SiftUp(size_t index, const Slot& slot) {
    while (index > 0) {
      const size_t parent = (index - 1) / kArity;
      if (!(slot < At(parent))) break;
      Put(index, At(parent));
      index = parent;
    }
    Put(index, slot);
  }

  // Puts `slot` at `index`, or below if a child is less than `slot`.
  void SiftDown(size_t index, const Slot& slot) {
    while (true) {
      const size_t first = index * kArity + 1;
      if (first >= size_) break;
      const Slot* const begin = &At(first);
      const Slot* const end = begin + (std::min)(kArity, size_ - first);
      const Slot* const least = std::min_element(begin, end);
      if (!(*least < slot)) break;
      Put(index, *least);
      index = first + static_cast<size_t>(least - begin);
    }
    Put(index, slot);
  }

  SetIndex set_index_;
  SegmentedArray<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_INDEXED_HEAP_H_
