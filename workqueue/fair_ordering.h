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
// An ordering in which groups of items take turns: one tenant with a million
// keys does not keep another's first key waiting. Within a group, items are
// handed out first in, first out.
//
// Example, a queue of `namespace/name` in which namespaces take turns:
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
// A group that has items queued has a turn after each of the others has had
// one, and hands out as many items in a turn as its weight says, or all that it
// has. One that gets its first item comes last. (This is weighted round robin,
// of items, not of the time that processing them takes.)
//
// Each call takes constant time for each item, and allocates nothing in the
// steady state, apart from what the functions given to it do. `Hash` and `Eq`
// are those of a hash set of groups. A group without items takes no memory.
//
// As for any ordering: the queue calls it with its lock held.
template <typename T, typename Group = std::string,
          typename Hash = typename absl::flat_hash_set<Group>::hasher,
          typename Eq = typename absl::flat_hash_set<Group>::key_equal>
class FairOrdering final : public Ordering<T> {
 public:
  // Returns the group of an item: always the same for equal items.
  using GroupOf = std::function<Group(const T&)>;

  // Returns the weight of a group. Asked when the group gets its first item;
  // less than 1 counts as 1.
  using WeightOf = std::function<int(const Group&)>;

  // Returns a new ordering. Without `weight_of`, all groups have weight 1. The
  // functions are called with the queue's lock held, and must not call it.
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
      absl::FunctionRef<void(const QueuedItem<T>&)> visit) const override {
    struct Rest {
      const QueuedItem<T>* next;
      int left;
      int weight;
    };
    std::deque<Rest> ring;
    for (const Turn* turn = ring_.front(); turn != nullptr;
         turn = turn->next()) {
      ring.push_back({turn->items.front(), turn->left, turn->weight});
    }
    for (; !ring.empty(); ring.pop_front()) {
      Rest rest = ring.front();
      for (; rest.next != nullptr && rest.left > 0; --rest.left) {
        visit(*rest.next);
        rest.next = rest.next->next();
      }
      rest.left = rest.weight;
      if (rest.next != nullptr) ring.push_back(rest);
    }
    return true;
  }

 private:
  // A group that has items queued.
  struct Turn : internal::ItemNode<Group>, internal::IntrusiveLink<Turn> {
    using internal::ItemNode<Group>::ItemNode;

    QueuedItemList<T> items;  // never empty
    int weight = 1;
    int left = 1;  // of the items of this turn, or of its next
  };

  FairOrdering(GroupOf group_of, WeightOf weight_of)
      : group_of_(std::move(group_of)), weight_of_(std::move(weight_of)) {}

  const GroupOf group_of_;
  const WeightOf weight_of_;

  internal::NodeHashSet<Group, Turn, Hash, Eq> turns_;
  // Whose turn it is comes first.
  internal::IntrusiveList<Turn> ring_;
  size_t size_ = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_FAIR_ORDERING_H_
