// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/fair_ordering.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_FAIR_ORDERING_H_
#define WORKQUEUE_FAIR_ORDERING_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/internal/node_hash_set.h"
#include "workqueue/ordering.h"

namespace workqueue {

// FairOrdering
//
// An ordering in which groups of items take turns. A group with a million items
// does not delay the first item of another group. Within a group, items are
// handed out first in, first out.
//
// Example, a queue of `namespace/name` keys in which namespaces take turns:
//
//     const auto namespace_of = [](const std::string& key) {
//       return key.substr(0, key.find('/'));
//     };
//     auto ordering =
//         workqueue::FairOrdering<std::string>::Create(namespace_of);
//     if (!ordering.ok()) return ordering.status();
//     workqueue::RateLimitingQueueOptions<std::string> options;
//     options.ordering = *std::move(ordering);
//     workqueue::RateLimitingQueue<std::string> queue(std::move(options));
//
// The ordering is a weighted round robin. In its turn, a group hands out as
// many items as its weight, or all its items if it has fewer. The next turn of
// the group follows one turn of every other group that has items. A group that
// gets its first item takes the last turn. The weights count items, not the
// time that processing them takes.
//
// Each call takes constant time for each item, apart from the functions given
// to the ordering. In the steady state it allocates nothing, apart from what
// these functions allocate. A group without items takes no memory.
//
// `Hash` and `Eq` hash and compare groups, as in a hash set.
//
// The queue calls the ordering with its lock held, as it does every ordering.
template <typename T, typename Group = std::string,
          typename Hash = typename absl::flat_hash_set<Group>::hasher,
          typename Eq = typename absl::flat_hash_set<Group>::key_equal>
class FairOrdering final : public Ordering<T> {
 public:
  // Returns the group of an item. The group must be the same for equal items.
  using GroupOf = std::function<Group(const T&)>;

  // Returns the weight of a group. Called when the group gets its first item. A
  // weight less than 1 counts as 1.
  using WeightOf = std::function<int(const Group&)>;

  // Returns a new ordering. A null `weight_of` means weight 1 for all groups.
  // The functions are called with the queue's lock held, and must not call the
  // queue.
  //
  // Returns an `absl::InvalidArgumentError` if `group_of` is null.
  static absl::StatusOr<std::unique_ptr<FairOrdering>> Create(
      GroupOf group_of, WeightOf weight_of = nullptr) {
    if (group_of == nullptr) {
      return absl::InvalidArgumentError("group_of is null");
    }
    return absl::WrapUnique(
        new FairOrdering(std::move(group_of), std::move(weight_of)));
  }

  void Push(QueuedItem<T>* item) override {
    const Group group = group_of_(item->item());
    const auto [turn, is_new] = turns_.FindOrInsert(group, Hash()(group));
    if (is_new) {
      absl::Cleanup undo = [this, turn = turn] { turns_.Erase(turn); };
      turn->weight = weight_of_ == nullptr ? 1 : std::max(1, weight_of_(group));
      std::move(undo).Cancel();
      turn->left = turn->weight;
      ring_.PushBack(turn);
    }
    turn->items.PushBack(item);
    ++size_;
  }

  size_t Len() const override { return size_; }

  QueuedItem<T>* Pop() override {
    Turn* const turn = ring_.front();
    QueuedItem<T>* const item = turn->items.PopFront();
    --size_;
    if (turn->items.empty()) {
      ring_.Remove(turn);
      turns_.Erase(turn);
    } else if (--turn->left == 0) {
      turn->left = turn->weight;
      ring_.Remove(turn);
      ring_.PushBack(turn);
    }
    return item;
  }

  bool ForEach(
      absl::FunctionRef<bool(const QueuedItem<T>&)> visit) const override {
    struct Rest {
      const QueuedItem<T>* next;
      int weight;
    };
    std::deque<Rest> rests;  // of the groups that have had a turn
    // Visits the items of one turn. Returns whether to go on.
    const auto take_turn = [&visit, &rests](const QueuedItem<T>* next, int left,
                                            int weight) {
      for (; next != nullptr && left > 0; --left) {
        if (!visit(*next)) return false;
        next = next->next();
      }
      if (next != nullptr) rests.push_back({next, weight});
      return true;
    };
    for (const Turn* turn = ring_.front(); turn != nullptr;
         turn = turn->next()) {
      if (!take_turn(turn->items.front(), turn->left, turn->weight))
        return true;
    }
    for (; !rests.empty(); rests.pop_front()) {
      const Rest rest = rests.front();
      if (!take_turn(rest.next, rest.weight, rest.weight)) return true;
    }
    return true;
  }

 private:
  // A group that has queued items.
  struct Turn : internal::ItemNode<Group>, internal::IntrusiveLink<Turn> {
    using internal::ItemNode<Group>::ItemNode;

    QueuedItemList<T> items;  // never empty
    int weight = 1;
    int left = 1;  // items left in the current turn, or in the next turn
  };

  FairOrdering(GroupOf group_of, WeightOf weight_of)
      : group_of_(std::move(group_of)), weight_of_(std::move(weight_of)) {}

  const GroupOf group_of_;
  const WeightOf weight_of_;

  internal::NodeHashSet<Group, Turn, Hash, Eq> turns_;
  // The group whose turn it is comes first.
  internal::IntrusiveList<Turn> ring_;
  size_t size_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_FAIR_ORDERING_H_
