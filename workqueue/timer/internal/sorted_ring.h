// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
#define WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/cleanup/cleanup.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// SortedRing
//
// This class is a sorted sequence of slots. Slots are appended at the back, in
// order, and mostly removed from the front. The owner must put a slot that
// comes out of order elsewhere.
//
// The ring reports the index of each slot to its owner, so that the owner can
// remove any slot. Removing leaves a hole. If `IsSparse()` then returns true,
// the owner must remove a few slots from the front and put them elsewhere:
//
//     ring.Remove(index);
//     for (int i = 0; i < 4 && ring.IsSparse(); ++i) {
//       others.Push(ring.front());
//       ring.PopFront();
//     }
//
// `Slot` must be trivial, and must have `<` and a member `SlabId id`, which is
// not `kNoSlabId`. The ring calls `set_index(slot, index)` for each slot that
// it is given; `SetIndex` must not throw.
//
// The slots are in segments of 8 KB, which are allocated at the back and freed
// when they are empty. So the ring grows and shrinks without a pause.
//
// Indices are less than `kIndices`, a power of two, and wrap around. There is
// room for at least a quarter as many slots and holes.
//
// Every operation takes amortized constant time. No call visits more than the
// slots of two segments and the pointers to all segments. Not thread-safe.
template <typename Slot, typename SetIndex, uint32_t kIndices>
class SortedRing {
 public:
  using Index = uint32_t;

  explicit SortedRing(SetIndex set_index = SetIndex())
      : set_index_(std::move(set_index)) {}

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // The first slot, and the last. There must be one.
  const Slot& front() const { return (*this)[begin_]; }
  const Slot& back() const { return (*this)[Before(end_)]; }

  const Slot& operator[](Index index) const {
    return segments_[SegmentOf(index)].slots[index % kSegmentSize];
  }

  // Allocates memory for one more slot, if there are indices for it.
  void ReserveOne() {
    if (!HasRoom()) AddSegment();
  }

  bool HasRoom() const { return SegmentOf(end_) < segments_.size(); }

  // Appends `slot`, which must not be less than the last slot. There must be
  // room.
  void Append(const Slot& slot) {
    Replace(end_, slot);
    ++segments_[SegmentOf(end_)].size;
    ++size_;
    end_ = After(end_);
  }

  // Returns whether `slot` is less than at most the last `max` slots. (A hole
  // among the last slots counts as a slot.)
  bool BelongsNearBack(const Slot& slot, Index max) const {
    if (Span() <= max) return true;
    // The slot before those decides, or if it is a hole, the next slot.
    Index other = (end_ - 1 - max) % kIndices;
    while (IsHole(other)) other = After(other);
    return !(slot < (*this)[other]);
  }

  // Replaces the slot at `index` by `slot`, which must have the same place in
  // the order.
  void Replace(Index index, const Slot& slot) {
    At(index) = slot;
    set_index_(slot, index);
  }

  // Removes the slot at `index`. Throws nothing.
  void Remove(Index index) {
    Segment& segment = segments_[SegmentOf(index)];
    segment.slots[index % kSegmentSize].id = kNoSlabId;
    --segment.size;
    --size_;
    // The last segment stays.
    if (segment.size == 0 && StartOf(index) != StartOf(Before(end_))) {
      Free(&segment);
    }
    if (size_ == 0) begin_ = end_ = StartOf(Before(end_));
    TrimFront();
    TrimBack();
  }

  // Remove the first slot and the last slot, of at least one.
  void PopFront() { Remove(begin_); }
  void PopBack() { Remove(Before(end_)); }

  // Visits the slots in order:
  //
  //     Index i = ring.FirstIndex();
  //     for (size_t left = ring.size(); left > 0; --left) {
  //       Visit(ring[i]);
  //       if (left > 1) i = ring.NextIndex(i);
  //     }
  //
  // `NextIndex()` returns the index of the slot after the one at `index`, which
  // must not be the last. It skips holes: fewer than two segments of them, and
  // each empty segment at once.
  Index FirstIndex() const { return begin_; }
  Index NextIndex(Index index) const {
    do {
      index = AfterHole(index);
    } while (IsHole(index));
    return index;
  }

  // Returns whether there are more than three times as many holes as slots.
  bool IsSparse() const { return size_ < Span() / 4; }

  // Calls `update(Slot&)` for each slot. It must change neither the order of
  // the slots nor their ids.
  template <typename F>
  void UpdateAll(F update) {
    for (Index i = begin_; i != end_; i = After(i)) {
      if (!IsHole(i)) update(At(i));
    }
  }

  // Removes all slots, and frees the memory.
  void Clear() {
    std::vector<Segment>().swap(segments_);
    spare_ = nullptr;
    size_ = 0;
    first_ = begin_ = end_ = 0;
  }

 private:
  // A power of two.
  static constexpr Index SegmentSize() {
    Index size = 1;
    while (2 * size * sizeof(Slot) <= 8192 && size < kIndices / 16) size *= 2;
    return size;
  }
  static constexpr Index kSegmentSize = SegmentSize();

  struct Segment {
    std::unique_ptr<Slot[]> slots;  // null only if there are none
    size_t size = 0;                // the number of slots, without holes
  };

  static Index After(Index index) { return (index + 1) % kIndices; }
  static Index Before(Index index) { return (index - 1) % kIndices; }
  static Index StartOf(Index index) { return index - index % kSegmentSize; }

  // Returns the position in segments_ for `index`.
  size_t SegmentOf(Index index) const {
    return (index - first_) % kIndices / kSegmentSize;
  }

  Slot& At(Index index) {
    return segments_[SegmentOf(index)].slots[index % kSegmentSize];
  }

  bool IsHole(Index index) const {
    const Segment& segment = segments_[SegmentOf(index)];
    return segment.size == 0 ||
           segment.slots[index % kSegmentSize].id == kNoSlabId;
  }

  // Returns the index after `index` or, if the segment has only holes, after
  // the segment.
  Index AfterHole(Index index) const {
    return segments_[SegmentOf(index)].size == 0
               ? (StartOf(index) + kSegmentSize) % kIndices
               : After(index);
  }

  // The number of slots and holes.
  size_t Span() const { return (end_ - begin_) % kIndices; }

  ABSL_ATTRIBUTE_NOINLINE void AddSegment() {
    if ((segments_.size() + 1) * kSegmentSize > kIndices / 2) return;
    segments_.emplace_back();
    Segment& segment = segments_.back();
    segment.slots = std::move(spare_);
    if (segment.slots != nullptr) return;
    absl::Cleanup remove = [this] { segments_.pop_back(); };
    segment.slots.reset(new Slot[kSegmentSize]);
    std::move(remove).Cancel();
  }

  // Frees the memory of `segment`, or keeps it for the next segment. So in the
  // steady state nothing is allocated.
  void Free(Segment* segment) {
    if (spare_ == nullptr) spare_ = std::move(segment->slots);
    segment->slots = nullptr;
  }

  // Makes begin_ the index of the first slot; end_ if there is none.
  void TrimFront() {
    while (begin_ != end_ && IsHole(begin_)) begin_ = AfterHole(begin_);
    const size_t unused = SegmentOf(begin_);
    if (unused <= segments_.size() / 2) return;
    segments_.erase(segments_.begin(),
                    segments_.begin() + static_cast<ptrdiff_t>(unused));
    first_ = StartOf(begin_);
    if (segments_.size() < MinSize<Segment>(segments_.capacity())) {
      TryCall([this] { segments_.shrink_to_fit(); });
    }
  }

  // Makes end_ the index after the last slot.
  void TrimBack() {
    while (begin_ != end_ && IsHole(Before(end_))) {
      const bool whole = segments_[SegmentOf(Before(end_))].size == 0;
      end_ = whole ? StartOf(Before(end_)) : Before(end_);
    }
    while (segments_.size() > SegmentOf(end_) + 1) {
      Free(&segments_.back());
      segments_.pop_back();
    }
    // If its memory has been freed, a segment behind it was there till now.
    Segment& last = segments_.back();
    if (last.slots == nullptr) last.slots = std::move(spare_);
  }

  SetIndex set_index_;
  // The first of these may be unused.
  std::vector<Segment> segments_;
  std::unique_ptr<Slot[]> spare_;
  size_t size_ = 0;
  Index first_ = 0;  // the first index in segments_
  // Neither the first nor the last slot is a hole.
  Index begin_ = 0;
  Index end_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_INTERNAL_SORTED_RING_H_
