// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_FAIR_ORDERING_H_
#define WORKQUEUE_FAIR_ORDERING_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/internal/fair_lane.h"
#include "workqueue/internal/fair_turns.h"
#include "workqueue/ordering.h"

namespace workqueue {

// FairDimension
//
// How a `FairOrdering` divides items into groups, for example by namespace. The
// functions are called with the queue's lock held, and must not call the queue.
template <typename T, typename Group = std::string>
struct FairDimension {
  // Returns the group of an item. The group must be the same for equal items.
  // Must be set.
  std::function<Group(const T&)> group_of;

  // Returns the weight of a group. Called when the group gets its first item. A
  // weight less than 1 counts as 1. Null means weight 1 for all groups.
  std::function<int(const Group&)> weight_of;

  // At most so many items of a group are processed at the same time. Must be at
  // least 1. The items of a group at its bound stay queued, and the other
  // groups' items overtake them.
  size_t max_in_process = (std::numeric_limits<size_t>::max)();

  // Whether the next item comes from the group that has the fewest items in
  // process, relative to its weight. Groups that have the same share take
  // turns. So slow items do not give a group more workers than the others have.
  // If false, groups take turns, whatever is being processed.
  bool count_processing = false;
};

// FairOrderingOptions
//
// Options of a `FairOrdering`, and of the groups of a `SharedQueue`.
template <typename T, typename Group = std::string>
struct FairOrderingOptions {
  // The outermost dimension first, for example clusters and then namespaces.
  // The groups of a dimension are within the groups of the dimension before:
  // two clusters may each have a namespace `default`, and these are two groups.
  // There may be no dimension.
  std::vector<FairDimension<T, Group>> dimensions;

  // At most so many retries are processed at the same time; see
  // `QueuedItem::is_retry()`. Must be at least 1. Further retries stay queued,
  // and other items overtake them.
  size_t max_retries_in_process = (std::numeric_limits<size_t>::max)();
};

// FairOrdering
//
// An ordering by priority, in which groups of items take turns. A group with a
// million items does not delay the first item of another group.
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
// Example, clusters that take turns and, within a cluster, its namespaces, each
// with at most two items in process:
//
//     workqueue::FairOrderingOptions<std::string> options;
//     options.dimensions.resize(2);
//     options.dimensions[0].group_of = ClusterOf;
//     options.dimensions[1].group_of = NamespaceOf;
//     options.dimensions[1].max_in_process = 2;
//     auto ordering =
//         workqueue::FairOrdering<std::string>::Create(std::move(options));
//
// An item is ready if no bound holds it back. The next item is determined in
// this order:
//
//   1. It is one of the highest priority at which an item is ready.
//   2. If retries and other items are ready at this priority, they take turns:
//      one retry, then one other item.
//   3. The groups of the first dimension take turns, then within the group
//      those of the second dimension, and so on. The turns at different
//      priorities, and those of retries, are independent of each other.
//   4. Within a group of the last dimension, items are handed out first in,
//      first out.
//
// The turns are a weighted round robin. In its turn, a group hands out as many
// items as its weight, or all its ready items if it has fewer. The next turn of
// the group follows one turn of every other group that has ready items. A group
// takes the last turn when it gets its first item, and when it is no longer
// held back. The weights count items, not the time that processing them takes.
// With `count_processing`, the shares come before the turns.
//
// An item is in process from the moment that it is handed out until `Done()` or
// the end of its lease, and also while it is queued after
// `Lease::GiveBack()`. The bounds apply to a group's items of all priorities
// together, with its retries.
//
// Each call takes constant time for each item and dimension, apart from the
// functions given to the ordering, and O(log n) for n priorities and, with
// `count_processing`, for n groups. If `max_in_process` or `count_processing`
// is set, it also takes time for each priority at which the item's groups have
// items. In the steady state it allocates nothing, apart from what these
// functions allocate. A group takes no memory if none of its items is queued or
// in process. An item in process takes memory only if there is a bound
// or `count_processing`.
//
// A snapshot has the items in the order in which they would be handed out if
// none were added, and if the processing of none ended. Items that would then
// be held back come last, those of the highest priority first. It takes time
// for the visited items, for each priority and, if there is a bound, for each
// item in process.
//
// `Hash` and `Eq` hash and compare groups, as in a hash set.
//
// The queue calls the ordering with its lock held, as it does every ordering.
template <typename T, typename Group = std::string,
          typename Hash = typename absl::flat_hash_set<Group>::hasher,
          typename Eq = typename absl::flat_hash_set<Group>::key_equal>
class FairOrdering final : public internal::FairTurns<T> {
 public:
  using GroupOf = std::function<Group(const T&)>;
  using WeightOf = std::function<int(const Group&)>;

  // Returns a new ordering. Returns an `absl::InvalidArgumentError` if a
  // `group_of` is null or a bound is 0.
  static absl::StatusOr<std::unique_ptr<FairOrdering>> Create(
      FairOrderingOptions<T, Group> options);

  // Returns a new ordering with one dimension.
  static absl::StatusOr<std::unique_ptr<FairOrdering>> Create(
      GroupOf group_of, WeightOf weight_of = nullptr);

  void Push(QueuedItem<T>* item) override {
    Lane* lane = this->FindOrInsertRoot(*item, Counts(0));
    absl::Cleanup undo = [this, &lane] { this->Update(lane); };
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      FairGroup* const group = FindOrInsertGroup(item->item(), d, lane->group);
      lane = this->FindOrInsertLane(group, lane, Counts(d + 1));
    }
    std::move(undo).Cancel();
    this->Insert(item, lane);
  }

  QueuedItem<T>* Pop() override {
    Lane* const lane = this->NextLane();
    if (has_records_) {
      const QueuedItem<T>* const item = lane->items.front();
      Record* const record =
          records_.FindOrInsert(item, internal::PointerHash(item)).first;
      // A group that does not count what is in process does not outlive its
      // last queued item.
      record->group = this->counts_groups() ? lane->group : nullptr;
      record->is_retry = item->is_retry();
    }
    return this->PopFrom(lane);
  }

  void OnDone(QueuedItem<T>* item) override {
    if (!has_records_) return;
    Record* const record = records_.Find(item, internal::PointerHash(item));
    FairGroup* const group = record->group;
    const bool is_retry = record->is_retry;
    records_.Erase(record);
    this->EndProcessing(group, is_retry);
  }

  bool Remove(QueuedItem<T>* item) override {
    Lane* lane = nullptr;
    if (!internal::TryCall([&] { lane = FindLane(*item); })) {
      lane = SearchLane(item);
    }
    this->Take(item, lane);
    return true;
  }

  std::vector<OrderingBound<T>> Bounds(const QueuedItem<T>* item,
                                       size_t max_items) const override {
    // Null stands for the retries. Abseil's hash tables are corrupt after an
    // allocation that has thrown.
    std::set<const FairGroup*> of_item;
    if (item != nullptr) {
      const FairGroup* group = FindLane(*item)->group;
      for (; group != nullptr; group = group->parent) of_item.insert(group);
      if (item->is_retry()) of_item.insert(nullptr);
    }
    const bool holds_retries_back = this->HoldsRetriesBack();
    std::vector<OrderingBound<T>> bounds;
    std::map<const FairGroup*, size_t> indices;
    const auto count = [&](const FairGroup* group, const T& processing) {
      const size_t max =
          group == nullptr ? this->max_retries() : group->max_in_process;
      if (max == kUnbounded) return;
      const bool holds_back = group == nullptr
                                  ? holds_retries_back
                                  : group->AtBound() && !group->lanes.empty();
      if (item != nullptr && !(holds_back && of_item.count(group) > 0)) return;
      const auto [it, is_new] = indices.try_emplace(group, bounds.size());
      if (is_new) bounds.push_back({NameOf(group), max, 0, holds_back, {}});
      OrderingBound<T>& bound = bounds[it->second];
      ++bound.processing;
      if (bound.items.size() < max_items) bound.items.push_back(processing);
    };
    records_.ForEach([&count](const Record& record) {
      const T& processing = record.item()->item();
      for (const FairGroup* group = record.group; group != nullptr;
           group = group->parent) {
        count(group, processing);
      }
      if (record.is_retry) count(nullptr, processing);
    });
    return bounds;
  }

 private:
  using Options = FairOrderingOptions<T, Group>;
  using Turns = internal::FairTurns<T>;
  using typename Turns::FairGroup;
  using typename Turns::Lane;

  // Identifies a group within its outer group, which may be null.
  struct Key {
    FairGroup* outer;
    Group group;
  };
  struct KeyEq {
    bool operator()(const Key& a, const Key& b) const {
      return a.outer == b.outer && Eq()(a.group, b.group);
    }
  };
  // `Hash` may be the identity.
  static size_t HashOf(const Key& key) {
    return Hash()(key.group) +
           internal::PointerHash(key.outer) * 0x9e3779b97f4a7c15;
  }
  struct KeyedGroup : internal::ItemNode<Key>, FairGroup {
    using internal::ItemNode<Key>::ItemNode;
  };

  // The group, if any, and the kind for which an item in process counts.
  struct Record : internal::ItemNode<const QueuedItem<T>*> {
    using internal::ItemNode<const QueuedItem<T>*>::ItemNode;

    FairGroup* group = nullptr;
    bool is_retry = false;
  };
  static constexpr size_t kUnbounded = (std::numeric_limits<size_t>::max)();

  explicit FairOrdering(Options options)
      : Turns(options.max_retries_in_process, HasCounts(options.dimensions)),
        dimensions_(std::move(options.dimensions)),
        has_records_(this->counts_groups() ||
                     options.max_retries_in_process != kUnbounded) {}

  // Whether what is in process must be counted by group.
  static bool HasCounts(
      const std::vector<FairDimension<T, Group>>& dimensions) {
    return std::any_of(dimensions.begin(), dimensions.end(),
                       [](const FairDimension<T, Group>& dimension) {
                         return dimension.count_processing ||
                                dimension.max_in_process != kUnbounded;
                       });
  }

  // Whether the groups of dimension `d` are ordered by what is in process.
  bool Counts(size_t d) const {
    return d < dimensions_.size() && dimensions_[d].count_processing;
  }

  // Returns the group of `item` in dimension `d`, within `outer`. It is new if
  // there was none.
  FairGroup* FindOrInsertGroup(const T& item, size_t d, FairGroup* outer) {
    const FairDimension<T, Group>& dimension = dimensions_[d];
    Key key{outer, dimension.group_of(item)};
    const size_t hash = HashOf(key);
    const auto found = groups_.FindOrInsert(std::move(key), hash);
    KeyedGroup* const group = found.first;
    if (!found.second) return group;
    absl::Cleanup undo = [this, group] { groups_.Erase(group); };
    if (dimension.weight_of != nullptr) {
      group->weight = static_cast<uint32_t>(
          (std::max)(1, dimension.weight_of(group->item().group)));
    }
    std::move(undo).Cancel();
    group->parent = outer;
    group->max_in_process = dimension.max_in_process;
    return group;
  }

  // Return the lane that contains `item`. `FindLane()` calls functions that may
  // throw. `SearchLane()` searches all lanes. It need not search the roots,
  // because it is called only if there are dimensions.
  Lane* FindLane(const QueuedItem<T>& item) const {
    Lane* lane = this->FindRoot(item);
    for (const FairDimension<T, Group>& dimension : dimensions_) {
      const Key key{lane->group, dimension.group_of(item.item())};
      lane = Turns::FindLane(groups_.Find(key, HashOf(key)), lane);
    }
    return lane;
  }

  Lane* SearchLane(const QueuedItem<T>* item) const {
    const Lane* found = nullptr;
    groups_.ForEach([item, &found](const FairGroup& group) {
      for (const auto* link = group.lanes.front(); link != nullptr;
           link = link->next()) {
        const Lane* const lane = static_cast<const Lane*>(link);
        for (const QueuedItem<T>* i = lane->items.front(); i != nullptr;
             i = i->next()) {
          if (i == item) found = lane;
        }
      }
    });
    return const_cast<Lane*>(found);
  }

  // Returns the name of a bound: "group shop", or "group main/shop" if "shop"
  // is within the group "main". Of `max_retries_in_process` if `group` is null.
  static std::string NameOf(const FairGroup* group) {
    if (group == nullptr) return "retries";
    std::string name;
    for (; group != nullptr; group = group->parent) {
      std::string part = "?";
      if constexpr (internal::IsPrintable<Group>::value) {
        part = internal::DescribeItem(
            static_cast<const KeyedGroup*>(group)->item().group);
      }
      name = name.empty() ? part : absl::StrCat(part, "/", name);
    }
    return absl::StrCat("group ", name);
  }

  void EraseGroup(FairGroup* group) override {
    groups_.Erase(static_cast<KeyedGroup*>(group));
  }

  const std::vector<FairDimension<T, Group>> dimensions_;
  const bool has_records_;

  internal::NodeHashSet<Key, KeyedGroup, KeyEq> groups_;
  internal::NodeHashSet<const QueuedItem<T>*, Record> records_;
};

// Implementation details follow.

template <typename T, typename Group, typename Hash, typename Eq>
auto FairOrdering<T, Group, Hash, Eq>::Create(Options options)
    -> absl::StatusOr<std::unique_ptr<FairOrdering>> {
  for (size_t d = 0; d < options.dimensions.size(); ++d) {
    const auto& dimension = options.dimensions[d];
    if (dimension.group_of == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimensions[", d, "].group_of is null"));
    }
    if (dimension.max_in_process == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimensions[", d, "].max_in_process is 0; it must be at least 1"));
    }
  }
  if (options.max_retries_in_process == 0) {
    return absl::InvalidArgumentError(
        "max_retries_in_process is 0; it must be at least 1");
  }
  return absl::WrapUnique(new FairOrdering(std::move(options)));
}

template <typename T, typename Group, typename Hash, typename Eq>
auto FairOrdering<T, Group, Hash, Eq>::Create(GroupOf group_of,
                                              WeightOf weight_of)
    -> absl::StatusOr<std::unique_ptr<FairOrdering>> {
  if (group_of == nullptr) {
    return absl::InvalidArgumentError("group_of is null");
  }
  Options options;
  options.dimensions.resize(1);
  options.dimensions[0].group_of = std::move(group_of);
  options.dimensions[0].weight_of = std::move(weight_of);
  return Create(std::move(options));
}

}  // namespace workqueue

#endif  // WORKQUEUE_FAIR_ORDERING_H_
