// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_FAIR_PREVIEW_H_
#define WORKQUEUE_INTERNAL_FAIR_PREVIEW_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/internal/fair_lane.h"
#include "workqueue/ordering.h"

namespace workqueue::internal {

// FairPreview
//
// Tells the order in which the items of lanes would be handed out if nothing
// else happened. Does what the ordering would do, but with copies of what would
// change. It copies only what it comes to, so the time depends on the visited
// items, and not on those in the lanes.
template <typename T>
class FairPreview {
 public:
  using Lane = FairLane<T>;
  using Group = FairGroup<T>;

  // `last_turn` is the greatest number of a turn.
  explicit FairPreview(int64_t last_turn) : last_turn_(last_turn) {}

  // Returns the next item of the ready items in `lane` and below, or null if
  // there are no more. The item counts as being processed from then on.
  const QueuedItem<T>* Take(const Lane& lane) {
    const bool at_bound = lane.group != nullptr &&
                          InProcess(lane.group) >= lane.group->max_in_process;
    if (lane.state != Lane::State::kReady || at_bound) return nullptr;
    Rest* const rest = RestOf(lane);
    const QueuedItem<T>* item = rest->next_item;
    if (item != nullptr) {
      rest->next_item = item->next();
    } else {
      item = lane.counts ? TakeByShare(rest) : TakeInTurn(rest);
    }
    if (item != nullptr && lane.group != nullptr) {
      ++taken_.FindOrInsert(lane.group, PointerHash(lane.group)).first->items;
    }
    return item;
  }

  // Visits the items in `lane` and below that `Take()` has not returned, in no
  // particular order, until `visit` returns false. Returns whether to go on.
  bool VisitRest(const Lane& lane,
                 absl::FunctionRef<bool(const QueuedItem<T>&)> visit) const {
    const Rest* const rest = rests_.Find(&lane, PointerHash(&lane));
    const QueuedItem<T>* item =
        rest == nullptr ? lane.items.front() : rest->next_item;
    for (; item != nullptr; item = item->next()) {
      if (!visit(*item)) return false;
    }
    for (const auto* list : {&lane.in_turn, &lane.held}) {
      for (const Lane* l = list->front(); l != nullptr; l = l->NextSibling()) {
        if (!VisitRest(*l, visit)) return false;
      }
    }
    std::vector<const Lane*> lanes = {lane.by_share.front()};
    while (!lanes.empty()) {
      const Lane* const l = lanes.back();
      lanes.pop_back();
      if (l == nullptr) continue;
      if (!VisitRest(*l, visit)) return false;
      lanes.push_back(l->left());
      lanes.push_back(l->right());
    }
    return true;
  }

 private:
  // A child in the order by shares.
  struct Share {
    // Puts the least share at the front of a binary heap.
    bool operator<(const Share& other) const {
      const uint64_t a = in_process * other.lane->group->weight;
      const uint64_t b = other.in_process * lane->group->weight;
      return a != b ? a > b : turn > other.turn;
    }

    const Lane* lane;
    uint64_t in_process;
    int64_t turn;
    bool visited;  // so that the children in the lane's heap are known
  };

  // A lane without the items that have been taken.
  struct Rest : ItemNode<const Lane*>, IntrusiveLink<Rest> {
    using ItemNode<const Lane*>::ItemNode;

    const QueuedItem<T>* next_item = nullptr;  // in an innermost lane
    uint32_t left_in_turn = 0;
    // The children, the next one first: those in the lane's list from
    // `unvisited` on, and then those that have had a turn.
    const Lane* unvisited = nullptr;
    IntrusiveList<Rest> visited;
    // The children instead, in a binary heap, if the lane counts. A child that
    // is not in it is, in the heap of the lane, below one that is not visited.
    std::vector<Share> shares;
  };

  // The items of a group that have been taken.
  struct Taken : ItemNode<const Group*> {
    using ItemNode<const Group*>::ItemNode;

    uint64_t items = 0;
  };

  uint64_t InProcess(const Group* group) const {
    const Taken* const taken = taken_.Find(group, PointerHash(group));
    return group->in_process + (taken == nullptr ? 0 : taken->items);
  }

  Rest* RestOf(const Lane& lane) {
    const auto [rest, is_new] = rests_.FindOrInsert(&lane, PointerHash(&lane));
    if (is_new) {
      rest->next_item = lane.items.front();
      rest->left_in_turn = lane.left_in_turn;
      rest->unvisited = lane.in_turn.front();
      PushUnvisited(lane.by_share.front(), rest);
    }
    return rest;
  }

  // Returns whether the lane, which has handed out an item, still has its turn.
  static bool KeepsTurn(Rest* rest) {
    if (--rest->left_in_turn > 0) return true;
    rest->left_in_turn = rest->item()->group->weight;
    return false;
  }

  const QueuedItem<T>* TakeInTurn(Rest* rest) {
    while (rest->unvisited != nullptr || !rest->visited.empty()) {
      const bool is_new = rest->unvisited != nullptr;
      Rest* const child =
          is_new ? RestOf(*rest->unvisited) : rest->visited.front();
      const QueuedItem<T>* const item = Take(*child->item());
      if (item != nullptr && KeepsTurn(child)) return item;
      if (is_new) {
        rest->unvisited = rest->unvisited->NextSibling();
      } else {
        rest->visited.Remove(child);
      }
      if (item == nullptr) continue;
      rest->visited.PushBack(child);
      return item;
    }
    return nullptr;
  }

  const QueuedItem<T>* TakeByShare(Rest* rest) {
    while (!rest->shares.empty()) {
      std::pop_heap(rest->shares.begin(), rest->shares.end());
      Share share = rest->shares.back();
      rest->shares.pop_back();
      const Lane* const lane = share.lane;
      if (!share.visited) {
        PushUnvisited(lane->left(), rest);
        PushUnvisited(lane->right(), rest);
        share.visited = true;
      }
      const uint64_t in_process = InProcess(lane->group);
      const QueuedItem<T>* item = nullptr;
      if (in_process == share.in_process) {
        item = Take(*lane);
        if (item == nullptr) continue;
        if (!KeepsTurn(RestOf(*lane))) share.turn = ++last_turn_;
      }
      // Its share has grown, by this item or by one of another priority.
      share.in_process = InProcess(lane->group);
      Push(share, rest);
      if (item != nullptr) return item;
    }
    return nullptr;
  }

  // Also accepts null.
  void PushUnvisited(const Lane* lane, Rest* rest) {
    if (lane == nullptr) return;
    Push({lane, lane->group->in_process, lane->turn, /*visited=*/false}, rest);
  }

  void Push(const Share& share, Rest* rest) {
    rest->shares.push_back(share);
    std::push_heap(rest->shares.begin(), rest->shares.end());
  }

  int64_t last_turn_;
  NodeHashSet<const Lane*, Rest> rests_;
  NodeHashSet<const Group*, Taken> taken_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_FAIR_PREVIEW_H_
