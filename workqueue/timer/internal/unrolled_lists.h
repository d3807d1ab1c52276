// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/internal/unrolled_lists.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_INTERNAL_UNROLLED_LISTS_H_
#define WORKQUEUE_TIMER_INTERNAL_UNROLLED_LISTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "workqueue/internal/segmented_array.h"
#include "workqueue/internal/slab.h"

namespace workqueue {
namespace internal {

// UnrolledList
//
// A queue of ids, first in, first out, in an `UnrolledLists`. Cheap while it is
// empty.
class UnrolledList {
 public:
  bool empty() const { return front_ == kNone; }

 private:
  template <typename>
  friend class UnrolledLists;

  static constexpr uint32_t kNone = 0xffffffff;

  // The first and the last block; where its ids begin in the one, and end in
  // the other. All blocks between are full.
  uint32_t front_ = kNone;
  uint32_t back_ = kNone;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

// UnrolledLists
//
// The storage of many queues of ids, in blocks of a cache line each: a push
// touches none of the ids that are there, and there is no need to know how many
// each queue will have.
//
// The owner is told where each id is, so that any of them can be removed. The
// last one takes its place: the others keep their order. `SetPlace` is called
// as `set_place(id, place)` whenever an id has come to another place, and
// throws nothing.
//
// All of it takes constant time. Not thread-safe.
template <typename SetPlace>
class UnrolledLists {
 public:
  using Place = uint32_t;

  explicit UnrolledLists(SetPlace set_place = SetPlace())
      : set_place_(std::move(set_place)) {}

  // For how many blocks there is memory.
  size_t capacity() const { return blocks_.capacity(); }

  // Makes sure that nothing is allocated, and so nothing throws, as long as
  // there are no more than `ids` in all queues, and no more than `queues` that
  // have any.
  void Reserve(size_t ids, size_t queues) {
    blocks_.Reserve(ids / kIds + 2 * std::min(ids, queues));
  }

  // The first id of `queue`, which is not empty.
  SlabId Front(const UnrolledList& queue) const {
    return blocks_[queue.front_].ids[queue.begin_];
  }

  void PushBack(UnrolledList& queue, SlabId id) {
    if (queue.empty()) {
      queue.front_ = queue.back_ = NewBlock();
      queue.begin_ = queue.end_ = 0;
    } else if (queue.end_ == kIds) {
      const uint32_t block = NewBlock();
      blocks_[block].previous = queue.back_;
      blocks_[queue.back_].next = block;
      queue.back_ = block;
      queue.end_ = 0;
    }
    Put(queue.back_, queue.end_++, id);
  }

  // Removes the first id of `queue`, which is not empty, and returns it.
  SlabId PopFront(UnrolledList& queue) {
    const SlabId id = Front(queue);
    ++queue.begin_;
    if (FreedIfEmpty(queue)) return id;
    if (queue.begin_ == kIds) {
      FreeBlock(std::exchange(queue.front_, blocks_[queue.front_].next));
      queue.begin_ = 0;
    }
    return id;
  }

  // Removes the id at `place`, which is in `queue`.
  void Remove(UnrolledList& queue, Place place) {
    const uint32_t block = place / kPlaces;
    const uint32_t index = place % kPlaces;
    if (block == queue.front_ && index == queue.begin_) {
      PopFront(queue);
      return;
    }
    // There is another one before it, and so the last one is not the first.
    const SlabId last = blocks_[queue.back_].ids[--queue.end_];
    if (block != queue.back_ || index != queue.end_) Put(block, index, last);
    if (queue.end_ == 0) {
      FreeBlock(std::exchange(queue.back_, blocks_[queue.back_].previous));
      queue.end_ = kIds;
    }
  }

  // Gives back the memory. All queues must be made anew.
  void Clear() {
    blocks_.Clear();
    used_ = 0;
    free_ = UnrolledList::kNone;
  }

 private:
  static constexpr uint32_t kIds = 14;     // in a block
  static constexpr uint32_t kPlaces = 16;  // for each block

  struct alignas(64) Block {
    SlabId ids[kIds];
    uint32_t next;  // in its queue, or of those that are free
    uint32_t previous;
  };

  uint32_t NewBlock() {
    if (free_ != UnrolledList::kNone) {
      return std::exchange(free_, blocks_[free_].next);
    }
    return used_++;
  }

  void FreeBlock(uint32_t block) {
    blocks_[block].next = free_;
    free_ = block;
  }

  void Put(uint32_t block, uint32_t index, SlabId id) {
    blocks_[block].ids[index] = id;
    set_place_(id, block * kPlaces + index);
  }

  // Frees the block of `queue`, and returns true, if that has no ids left.
  bool FreedIfEmpty(UnrolledList& queue) {
    if (queue.front_ != queue.back_ || queue.begin_ != queue.end_) return false;
    FreeBlock(queue.front_);
    queue.front_ = queue.back_ = UnrolledList::kNone;
    return true;
  }

  SetPlace set_place_;
  SegmentedArray<Block> blocks_;
  uint32_t used_ = 0;  // blocks that have been made, with those that are free
  uint32_t free_ = UnrolledList::kNone;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_INTERNAL_UNROLLED_LISTS_H_
