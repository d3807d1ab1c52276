// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/internal/sorted_ring.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
#define WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/shrink.h"
#include "workqueue/internal/slab.h"

namespace workqueue {
namespace internal {

// SortedRing
//
// This class is a sorted sequence of slots in a ring buffer. Slots are appended
// at the back, in order, and mostly removed from the front. The owner must put
// a slot that comes out of order elsewhere.
//
// The ring reports the index of each slot to its owner, so that the owner can
// remove any slot. Removing leaves a hole. There are never more holes than
// slots. `Slot` must be trivial, and must have `<` and a member `SlabId id`,
// which is not `kNoSlabId`. The ring calls `set_index(slot, index)` whenever a
// slot has moved to another index; `SetIndex` must not throw.
//
// Indices are less than `kIndices`, a power of two, and wrap around. There is
// room for half as many slots and holes.
//
// Every operation takes amortized constant time. An operation that makes the
// ring grow or shrink moves all slots.
//
// Not thread-safe.
template <typename Slot, typename SetIndex, uint32_t kIndices>
class SortedRing {
 public:
  using Index = uint32_t;

  explicit SortedRing(SetIndex set_index = SetIndex())
      : set_index_(std::move(set_index)) {}

  bool empty() const { return begin_ == end_; }
  size_t size() const { return Span() - holes_; }
  size_t capacity() const { return capacity_; }

  // The first slot, and the last. There must be one.
  const Slot& front() const { return (*this)[begin_]; }
  const Slot& back() const { return (*this)[end_ - 1]; }

  const Slot& operator[](Index index) const {
    return ring_[index & (capacity_ - 1)];
  }

  // Allocates memory for one more slot, if there are indices for it.
  void ReserveOne() {
    if (!HasRoom() && capacity_ < kIndices / 2) Grow();
  }

  bool HasRoom() const { return Span() < capacity_; }

  // Appends `slot`, which must not be less than the last slot. There must be
  // room.
  void Append(const Slot& slot) {
    Put(end_, slot);
    end_ = Next(end_);
  }

  // Returns whether `slot` is less than at most the last `max` slots. (A hole
  // among the last slots counts as a slot.)
  bool BelongsNearBack(const Slot& slot, Index max) const {
    if (Span() <= max) return true;
    // The slot before those decides, or if it is a hole, the next slot.
    Index other = end_ - 1 - max;
    while (IsHole(other)) other = Next(other);
    return !(slot < (*this)[other]);
  }

  // Replaces the slot at `index` by `slot`, which must have the same place in
  // the order.
  void Replace(Index index, const Slot& slot) { Put(index, slot); }

  // Removes the last slot, of at least one.
  void PopBack() { Remove(end_ - 1); }

  // Removes the slot at `index`. Throws nothing.
  void Remove(Index index) {
    At(index).id = kNoSlabId;
    ++holes_;
    while (begin_ != end_ && IsHole(begin_)) {
      begin_ = Next(begin_);
      --holes_;
    }
    while (begin_ != end_ && IsHole(end_ - 1)) {
      end_ = (end_ - 1) % kIndices;
      --holes_;
    }
    if (holes_ > Span() / 2) Compact();
  }

  // Frees memory if there is much more than the slots need, as `MinSize()`
  // says. Moves all slots then. Throws nothing.
  void Shrink() {
    size_t capacity = capacity_;
    while (size() < MinSize<Slot>(capacity)) capacity /= 2;
    if (capacity < capacity_) TryCall([&] { SetCapacity(capacity); });
  }

  // Calls `update(Slot&)` for each slot. It must change neither the order of
  // the slots nor their ids.
  template <typename F>
  void UpdateAll(F update) {
    for (Index i = begin_; i != end_; i = Next(i)) {
      if (!IsHole(i)) update(At(i));
    }
  }

  // Removes all slots, and frees the memory.
  void Clear() {
    ring_ = nullptr;
    capacity_ = 0;
    begin_ = end_ = 0;
    holes_ = 0;
  }

 private:
  static Index Next(Index index) { return (index + 1) % kIndices; }

  Slot& At(Index index) { return ring_[index & (capacity_ - 1)]; }

  bool IsHole(Index index) const { return (*this)[index].id == kNoSlabId; }

  void Put(Index index, const Slot& slot) {
    At(index) = slot;
    set_index_(slot, index);
  }

  // The number of slots and holes.
  size_t Span() const { return (end_ - begin_) % kIndices; }

  void Grow() { SetCapacity(capacity_ == 0 ? 16 : 2 * capacity_); }

  void SetCapacity(size_t capacity) {
    // The unused part is not written to, and so is not resident.
    std::unique_ptr<Slot[]> ring(new Slot[capacity]);
    // The holes may not fit, or the ring would soon grow again.
    if (Span() > capacity / 4 * 3) Compact();
    for (Index i = begin_; i != end_;) {
      // So many slots are next to each other in both rings.
      const size_t n = std::min<size_t>({(end_ - i) % kIndices,
                                         capacity_ - (i & (capacity_ - 1)),
                                         capacity - (i & (capacity - 1))});
      std::copy_n(&At(i), n, &ring[i & (capacity - 1)]);
      i = static_cast<Index>((i + n) % kIndices);
    }
    ring_ = std::move(ring);
    capacity_ = capacity;
  }

  // Removes the holes.
  void Compact() {
    Index to = begin_;
    for (Index from = begin_; from != end_; from = Next(from)) {
      if (IsHole(from)) continue;
      if (to != from) Put(to, At(from));
      to = Next(to);
    }
    end_ = to;
    holes_ = 0;
  }

  SetIndex set_index_;
  std::unique_ptr<Slot[]> ring_;
  size_t capacity_ = 0;  // of ring_: a power of two, or zero
  // The lower bits of an index are a position in ring_. Neither the first nor
  // the last slot is a hole.
  Index begin_ = 0;
  Index end_ = 0;
  size_t holes_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
