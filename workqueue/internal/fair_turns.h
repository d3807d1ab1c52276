// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_FAIR_TURNS_H_
#define WORKQUEUE_INTERNAL_FAIR_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "workqueue/base/leftist_heap.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/internal/fair_lane.h"
#include "workqueue/internal/fair_preview.h"
#include "workqueue/ordering.h"

namespace workqueue::internal {

// FairTurns
//
// The part of a `FairOrdering` that decides which lane hands out the next item.
// The derived class finds the groups of an item, and owns them.
//
// No function throws, except those that insert, and `ForEach()`.
template <typename T>
class FairTurns : public Ordering<T> {
 public:
  size_t Len() const final { return size_; }
  bool HasNext() const final { return NextRoot() != nullptr; }
  bool ForEach(
      absl::FunctionRef<bool(const QueuedItem<T>&)> visit) const final {
    std::vector<const Priority*> priorities;
    priorities_.ForEach([&priorities](const Priority& priority) {
      priorities.push_back(&priority);
    });
    std::sort(priorities.begin(), priorities.end(),
              [](const Priority* a, const Priority* b) {
                return a->item() > b->item();
              });
    FairPreview<T> preview(last_turn_);
    size_t retries = retries_in_process_;
    for (const Priority* priority : priorities) {
      bool retry_is_next = priority->retry_is_next;
      while (true) {
        const QueuedItem<T>* item = nullptr;
        for (const bool retry : {retry_is_next, !retry_is_next}) {
          if (item != nullptr || (retry && retries >= max_retries_)) continue;
          item = preview.Take(retry ? priority->retries : priority->additions);
          if (item == nullptr) continue;
          retries += retry ? 1 : 0;
          retry_is_next = !retry;
        }
        if (item == nullptr) break;
        if (!visit(*item)) return true;
      }
    }
    for (const Priority* priority : priorities) {
      if (!preview.VisitRest(priority->additions, visit)) break;
      if (!preview.VisitRest(priority->retries, visit)) break;
    }
    return true;
  }

 protected:
  using Lane = FairLane<T>;
  using FairGroup = internal::FairGroup<T>;

  // `counts_groups` tells whether to count what is in process by group.
  FairTurns(size_t max_retries_in_process, bool counts_groups)
      : max_retries_(max_retries_in_process), counts_groups_(counts_groups) {}
  ~FairTurns() override = default;

  // Returns the root for `item`, which is new if there was none.
  Lane* FindOrInsertRoot(const QueuedItem<T>& item, bool counts) {
    const int priority = item.priority();
    if (recent_ == nullptr || recent_->item() != priority) {
      recent_ =
          priorities_.FindOrInsert(priority, std::hash<int>()(priority)).first;
    }
    Root& root = recent_->RootFor(item.is_retry());
    root.counts = counts;
    return &root;
  }

  // Returns the root for `item`, or null.
  Lane* FindRoot(const QueuedItem<T>& item) const {
    const int priority = item.priority();
    Priority* const found =
        priorities_.Find(priority, std::hash<int>()(priority));
    return found == nullptr ? nullptr : &found->RootFor(item.is_retry());
  }

  // Returns the lane of `group` whose parent is `parent`. It is new and empty
  // if there was none.
  Lane* FindOrInsertLane(FairGroup* group, Lane* parent, bool counts) {
    Lane* lane = FindLane(group, parent);
    if (lane != nullptr) return lane;
    lane = &group->first_lane;
    if (lane->parent != nullptr) {
      const LaneKey key = {group, parent};
      lane = further_lanes_.FindOrInsert(key, key.Hash()).first;
    }
    lane->parent = parent;
    lane->group = group;
    lane->counts = counts;
    group->lanes.PushBack(lane);
    return lane;
  }

  // Returns the lane of `group` whose parent is `parent`, or null.
  Lane* FindLane(FairGroup* group, Lane* parent) const {
    if (group->first_lane.parent == parent) return &group->first_lane;
    const LaneKey key = {group, parent};
    return further_lanes_.Find(key, key.Hash());
  }

  bool counts_groups() const { return counts_groups_; }
  size_t max_retries() const { return max_retries_; }

  // Returns whether the bound of retries holds a queued item back. Takes time
  // for each priority.
  bool HoldsRetriesBack() const {
    bool queued = false;
    priorities_.ForEach([&queued](const Priority& priority) {
      queued = queued || priority.retries.state != State::kEmpty;
    });
    return queued && RetriesAtBound();
  }

  // Returns the lane that hands out the next item. There must be one.
  Lane* NextLane() const {
    Lane* lane = NextRoot();
    while (Lane* next = lane->Next()) lane = next;
    return lane;
  }

  // Removes the next item, which is the first one of `lane`, and returns it.
  QueuedItem<T>* PopFrom(Lane* lane) {
    QueuedItem<T>* const item = lane->items.PopFront();
    --size_;
    FairGroup* const group = counts_groups_ ? lane->group : nullptr;
    for (FairGroup* g = group; g != nullptr; g = g->parent) ++g->in_process;
    while (Lane* const parent = lane->parent) {
      UseTurn(lane);
      lane = parent;
    }
    Root* const root = static_cast<Root*>(lane);
    root->priority->retry_is_next = !root->is_retry;
    if (root->is_retry && BoundsRetries()) ++retries_in_process_;
    Update(root);
    for (FairGroup* g = group; g != nullptr; g = g->parent) UpdateLanesOf(g);
    return item;
  }

  // Adds `item` to `lane`, an innermost lane.
  void Insert(QueuedItem<T>* item, Lane* lane) {
    lane->items.PushBack(item);
    ++size_;
    Update(lane);
  }

  // Removes `item` from `lane`. Erases the lane if it is empty.
  void Take(QueuedItem<T>* item, Lane* lane) {
    lane->items.Remove(item);
    --size_;
    Update(lane);
  }

  // Erases `lane` if it is empty. Otherwise gives it its state, and its place
  // among its siblings if the state has changed. Then does the same with its
  // parent if that may have changed, and so on.
  void Update(Lane* lane) {
    while (true) {
      const State state = lane->NewState();
      if (state == lane->state && state != State::kEmpty) return;
      Lane* const parent = lane->parent;
      SetState(lane, state);
      if (parent == nullptr) return;
      lane = parent;
    }
  }

  // Notes that the processing of an item of `group`, the innermost one, has
  // ended. `group` is null if there are no dimensions or `counts_groups()` is
  // false.
  void EndProcessing(FairGroup* group, bool is_retry) {
    if (is_retry && BoundsRetries()) --retries_in_process_;
    if (!counts_groups_) return;
    for (FairGroup* g = group; g != nullptr; g = g->parent) --g->in_process;
    for (FairGroup* g = group; g != nullptr; g = g->parent) UpdateLanesOf(g);
    EraseUnused(group);
  }

  // Destroys `group`, which has no lanes.
  virtual void EraseGroup(FairGroup* group) = 0;

 private:
  using State = typename Lane::State;
  struct Priority;
  struct Root : Lane {
    Priority* priority = nullptr;
    bool is_retry = false;
  };
  // A priority at which items are queued.
  struct Priority : ItemNode<int> {
    explicit Priority(int priority) : ItemNode<int>(priority) {
      additions.priority = retries.priority = this;
      retries.is_retry = true;
    }

    Root& RootFor(bool is_retry) { return is_retry ? retries : additions; }

    Root additions;
    Root retries;
    bool retry_is_next = false;  // if both are ready
  };
  struct HigherPriority {
    bool operator()(const Lane& a, const Lane& b) const {
      return PriorityOf(a).item() > PriorityOf(b).item();
    }
  };
  using RootHeap = LeftistHeap<Lane, HigherPriority>;

  struct LaneKey {
    bool operator==(const LaneKey& other) const {
      return group == other.group && parent == other.parent;
    }
    size_t Hash() const {
      return PointerHash(group) + PointerHash(parent) * 0x9e3779b97f4a7c15;
    }

    const FairGroup* group;
    const Lane* parent;
  };
  // A lane that is not the first one of its group.
  struct FurtherLane : ItemNode<LaneKey>, Lane {
    using ItemNode<LaneKey>::ItemNode;
  };

  static const Priority& PriorityOf(const Lane& root) {
    return *static_cast<const Root&>(root).priority;
  }

  bool BoundsRetries() const {
    return max_retries_ != (std::numeric_limits<size_t>::max)();
  }
  bool RetriesAtBound() const { return retries_in_process_ >= max_retries_; }

  // Returns the root that hands out the next item; null if no item is ready.
  Root* NextRoot() const {
    auto* const addition = static_cast<Root*>(additions_.front());
    auto* const retry =
        RetriesAtBound() ? nullptr : static_cast<Root*>(retries_.front());
    if (addition == nullptr || retry == nullptr) {
      return addition == nullptr ? retry : addition;
    }
    if (addition->priority == retry->priority) {
      return addition->priority->retry_is_next ? retry : addition;
    }
    return HigherPriority()(*addition, *retry) ? addition : retry;
  }

  // Handles that `lane` has handed out an item. Updates the lane alone.
  void UseTurn(Lane* lane) {
    const State state = lane->NewState();
    if (state != lane->state) {
      SetState(lane, state);
      return;
    }
    if (--lane->left_in_turn > 0) return;
    lane->left_in_turn = lane->group->weight;
    lane->turn = ++last_turn_;
    if (lane->parent->counts) return;  // UpdateLanesOf() moves it.
    lane->parent->in_turn.Remove(lane);
    lane->parent->in_turn.PushBack(lane);
  }

  // Updates the lanes of `group`, whose number in process has changed.
  void UpdateLanesOf(FairGroup* group) {
    for (LaneOfGroup* link = group->lanes.front(); link != nullptr;
         link = link->next()) {
      Lane* const lane = static_cast<Lane*>(link);
      if (lane->NewState() != lane->state) {
        Update(lane);
      } else if (lane->parent->counts && lane->state == State::kReady) {
        lane->parent->by_share.Remove(lane);
        lane->parent->by_share.Push(lane);
      }
    }
  }

  void SetState(Lane* lane, State state) {
    Leave(lane);
    lane->state = state;
    if (state != State::kEmpty) {
      Enter(lane);
    } else if (lane->parent != nullptr) {
      EraseLane(lane);
    } else {
      Priority* const priority = static_cast<Root*>(lane)->priority;
      if (priority->additions.state == State::kEmpty &&
          priority->retries.state == State::kEmpty) {
        if (recent_ == priority) recent_ = nullptr;
        priorities_.Erase(priority);
      }
    }
  }

  // Removes `lane` from where its state has put it.
  void Leave(Lane* lane) {
    Lane* const parent = lane->parent;
    if (lane->state == State::kEmpty) return;
    if (parent == nullptr) {
      if (lane->state == State::kHeld) return;
      (static_cast<Root*>(lane)->is_retry ? retries_ : additions_).Remove(lane);
    } else if (lane->state == State::kHeld) {
      parent->held.Remove(lane);
    } else if (parent->counts) {
      parent->by_share.Remove(lane);
    } else {
      parent->in_turn.Remove(lane);
    }
  }

  // Puts `lane` where its state puts it. A lane that becomes ready takes the
  // last turn.
  void Enter(Lane* lane) {
    Lane* const parent = lane->parent;
    if (parent == nullptr) {
      if (lane->state == State::kHeld) return;
      (static_cast<Root*>(lane)->is_retry ? retries_ : additions_).Push(lane);
    } else if (lane->state == State::kHeld) {
      parent->held.PushBack(lane);
    } else {
      lane->left_in_turn = lane->group->weight;
      lane->turn = ++last_turn_;
      if (parent->counts) {
        parent->by_share.Push(lane);
      } else {
        parent->in_turn.PushBack(lane);
      }
    }
  }

  void EraseLane(Lane* lane) {
    FairGroup* const group = lane->group;
    group->lanes.Remove(lane);
    if (lane == &group->first_lane) {
      lane->parent = nullptr;
    } else {
      further_lanes_.Erase(static_cast<FurtherLane*>(lane));
    }
    EraseUnused(group);
  }

  // Erases `group`, which may be null, and its parents, as far as no item of
  // theirs is queued or in process.
  void EraseUnused(FairGroup* group) {
    while (group != nullptr && group->in_process == 0 && group->lanes.empty()) {
      FairGroup* const parent = group->parent;
      EraseGroup(group);
      group = parent;
    }
  }

  const size_t max_retries_;
  const bool counts_groups_;
  size_t retries_in_process_ = 0;
  size_t size_ = 0;
  int64_t last_turn_ = 0;
  NodeHashSet<int, Priority> priorities_;
  // The priority of the item that was inserted last, unless it has been erased.
  // Most items have the same one.
  Priority* recent_ = nullptr;
  // The ready roots. `additions_` has those of items that are no retries.
  RootHeap additions_;
  RootHeap retries_;
  NodeHashSet<LaneKey, FurtherLane> further_lanes_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_FAIR_TURNS_H_
