// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_FAIR_LANE_H_
#define WORKQUEUE_INTERNAL_FAIR_LANE_H_

#include <cstddef>
#include <cstdint>

#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/leftist_heap.h"
#include "workqueue/ordering.h"

namespace workqueue::internal {

// Returns the hash of a pointer for a `NodeHashSet`.
inline size_t PointerHash(const void* p) {
  return reinterpret_cast<uintptr_t>(p);
}

template <typename T>
struct FairGroup;

// A lane of a `FairGroup`, as an element of the group's list.
struct LaneOfGroup : IntrusiveLink<LaneOfGroup> {};

// FairLane
//
// The queued items of a group that have the same priority and are all retries
// or all not. Lanes form trees: the parent of a lane is the lane of the outer
// group. The root of a tree has all items of a priority that are retries, or
// that are not. The innermost lanes, those without child lanes, have the items.
//
// An item is ready if it can be handed out now. A lane is ready if it has a
// ready item. It has its place in the order of its parent's children then;
// otherwise it is among the parent's held children.
template <typename T>
struct FairLane : IntrusiveLink<FairLane<T>>,
                  LaneOfGroup,
                  LeftistHeapLink<FairLane<T>> {
  enum class State : uint8_t {
    kEmpty,  // has no items
    kReady,
    kHeld,  // has no item that is ready
  };

  // Compares lanes of different groups by the groups' shares of the items that
  // are being processed, and then by their turns.
  struct Less {
    bool operator()(const FairLane& a, const FairLane& b) const {
      const uint64_t a_share = uint64_t{a.group->in_process} * b.group->weight;
      const uint64_t b_share = uint64_t{b.group->in_process} * a.group->weight;
      return a_share != b_share ? a_share < b_share : a.turn < b.turn;
    }
  };

  // Returns the state according to the items, the children and the group.
  State NewState() const {
    if (!items.empty() || Next() != nullptr) {
      const bool at_bound = group != nullptr && group->AtBound();
      return at_bound ? State::kHeld : State::kReady;
    }
    return held.empty() ? State::kEmpty : State::kHeld;
  }

  // Returns the child that hands out the next item; null if no child is ready.
  FairLane* Next() const { return counts ? by_share.front() : in_turn.front(); }

  FairLane* NextSibling() const { return IntrusiveLink<FairLane>::next(); }

  FairLane* parent = nullptr;     // null in a root, and in an unused lane
  FairGroup<T>* group = nullptr;  // null in a root
  State state = State::kEmpty;
  bool counts = false;  // whether the children are in by_share, not in in_turn
  uint32_t left_in_turn = 1;  // items left in the current or the next turn
  int64_t turn = 0;           // a greater number is a later turn

  QueuedItemList<T> items;
  // The children.
  IntrusiveList<FairLane> in_turn;       // ready; the next one first
  LeftistHeap<FairLane, Less> by_share;  // ready
  IntrusiveList<FairLane> held;
};

// FairGroup
//
// A group that has items which are queued or being processed.
template <typename T>
struct FairGroup {
  bool AtBound() const { return in_process >= max_in_process; }

  FairGroup* parent = nullptr;  // null in the first dimension
  uint32_t weight = 1;
  size_t in_process = 0;  // always 0 if it is not needed
  size_t max_in_process = 0;
  // The lanes that have items: one for each priority, and for retries. Most
  // groups have one only, `first_lane`.
  IntrusiveList<LaneOfGroup> lanes;
  FairLane<T> first_lane;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_FAIR_LANE_H_
