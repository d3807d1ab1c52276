// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_FAIR_ORDERING_MODEL_H_
#define WORKQUEUE_TEST_REFERENCE_FAIR_ORDERING_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "workqueue/fair_ordering.h"

namespace reference {

// FairOrderingModel
//
// A simple model of what a `FairOrdering` promises. It consists of lists, with
// a linear search for everything. After each change it finds out anew which
// groups have turns.
class FairOrderingModel {
 public:
  using Options = workqueue::FairOrderingOptions<int, int>;

  struct Item {
    bool operator==(const Item& other) const {
      return item == other.item && priority == other.priority &&
             retry == other.retry;
    }

    int item;
    int priority = 0;
    bool retry = false;
    std::vector<int> groups = {};  // set by Push(); the outermost first
  };

  explicit FairOrderingModel(Options options) : options_(std::move(options)) {}

  // Returns one of eight kinds of options with two dimensions.
  static Options OptionsOf(int kind) {
    Options options;
    options.dimensions.resize(2);
    options.dimensions[0].group_of = [](int item) { return item % 3; };
    options.dimensions[1].group_of = [](int item) { return item / 3 % 2; };
    size_t bound = 2;
    for (auto& dimension : options.dimensions) {
      dimension.weight_of = [](int group) { return 1 + group; };
      if (kind % 2 == 1) dimension.max_in_process = bound--;
      dimension.count_processing = kind / 2 % 2 == 1;
    }
    if (kind / 4 == 1) options.max_retries_in_process = 1;
    return options;
  }

  void Push(Item item) {
    for (const auto& dimension : options_.dimensions) {
      item.groups.push_back(dimension.group_of(item.item));
    }
    queued_.push_back(item);
    UpdateTurns();
  }

  // The same, but `item` comes before the others of its groups.
  void PushFirst(const Item& item) {
    Push(item);
    std::rotate(queued_.begin(), queued_.end() - 1, queued_.end());
  }

  // Removes a queued item.
  void Remove(int item) {
    queued_.erase(Find(queued_, item));
    UpdateTurns();
  }

  size_t Len() const { return queued_.size(); }

  bool HasNext() const { return NextOf().has_value(); }

  Item Pop() {
    const Next next = *NextOf();
    retry_is_next_[next.priority] = !next.retry;
    Path path;
    while (path.size() < options_.dimensions.size()) {
      path.push_back(UseTurn(RingId{next.priority, next.retry, path}));
    }
    const auto it =
        std::find_if(queued_.begin(), queued_.end(), [&](const Item& item) {
          return item.priority == next.priority && item.retry == next.retry &&
                 IsIn(item, path, path.size());
        });
    const Item item = *it;
    queued_.erase(it);
    processing_.push_back(item);
    UpdateTurns();
    return item;
  }

  void Done(int item) {
    processing_.erase(Find(processing_, item));
    UpdateTurns();
  }

  // Returns whether `item` has been handed out and is not done.
  bool IsProcessed(int item) const {
    return std::any_of(processing_.begin(), processing_.end(),
                       [item](const Item& it) { return it.item == item; });
  }

  // Returns the queued items that would be handed out if nothing else happened,
  // in that order.
  std::vector<int> Ready() const {
    std::vector<int> ready;
    for (FairOrderingModel rest = *this; rest.HasNext();) {
      ready.push_back(rest.Pop().item);
    }
    return ready;
  }

  // Returns the other queued items, in no particular order.
  std::vector<Item> Held() const {
    FairOrderingModel rest = *this;
    while (rest.HasNext()) rest.Pop();
    return rest.queued_;
  }

 private:
  // Groups, each within the one before.
  using Path = std::vector<int>;
  // Identifies the groups that take turns with each other: those within the
  // groups of the path.
  using RingId = std::tuple<int /*priority*/, bool /*retry*/, Path>;

  struct Next {
    int priority;
    bool retry;
  };

  struct Turn {
    int group;
    int left;
  };
  using Ring = std::vector<Turn>;  // the next turn first

  static std::vector<Item>::iterator Find(std::vector<Item>& items, int item) {
    return std::find_if(items.begin(), items.end(),
                        [item](const Item& it) { return it.item == item; });
  }

  // Returns whether the first `n` groups of `item` are those of `path`.
  static bool IsIn(const Item& item, const Path& path, size_t n) {
    return std::equal(path.begin(), path.begin() + n, item.groups.begin());
  }

  int WeightOf(size_t dimension, int group) const {
    return std::max(1, options_.dimensions[dimension].weight_of(group));
  }

  // Returns the number of items in process in the `n`th group of `path`.
  size_t InProcess(const Path& path, size_t n) const {
    return std::count_if(processing_.begin(), processing_.end(),
                         [&](const Item& item) { return IsIn(item, path, n); });
  }

  // Returns whether no bound of the groups of `item` from dimension `first` on
  // holds it back.
  bool IsReady(const Item& item, size_t first) const {
    for (size_t d = first; d < item.groups.size(); ++d) {
      if (InProcess(item.groups, d + 1) >=
          options_.dimensions[d].max_in_process) {
        return false;
      }
    }
    return true;
  }

  // Returns the priority of the next item, and whether it is a retry.
  std::optional<Next> NextOf() const {
    const size_t retries =
        std::count_if(processing_.begin(), processing_.end(),
                      [](const Item& item) { return item.retry; });
    std::optional<Next> next;
    for (const Item& item : queued_) {
      if (item.retry && retries >= options_.max_retries_in_process) continue;
      if (!IsReady(item, 0)) continue;
      const auto turn = retry_is_next_.find(item.priority);
      const bool retry_is_next = turn != retry_is_next_.end() && turn->second;
      if (!next.has_value() || item.priority > next->priority ||
          (item.priority == next->priority && item.retry == retry_is_next)) {
        next = Next{item.priority, item.retry};
      }
    }
    return next;
  }

  // Uses one item of the turn of the next group. Returns the group.
  int UseTurn(const RingId& id) {
    Ring& ring = rings_[id];
    const size_t d = std::get<2>(id).size();
    auto next = ring.begin();
    if (options_.dimensions[d].count_processing) {
      const auto share_of = [&](const Turn& turn) {
        Path path = std::get<2>(id);
        path.push_back(turn.group);
        // All weights divide 60.
        return InProcess(path, path.size()) * 60 / WeightOf(d, turn.group);
      };
      next = std::min_element(ring.begin(), ring.end(),
                              [&](const Turn& a, const Turn& b) {
                                return share_of(a) < share_of(b);
                              });
    }
    const int group = next->group;
    if (--next->left == 0) {
      ring.erase(next);
      ring.push_back({group, WeightOf(d, group)});
    }
    return group;
  }

  // Gives the groups that have become ready the last turns, and takes the turns
  // of those that are no longer ready.
  void UpdateTurns() {
    std::map<RingId, std::vector<int>> ready;
    for (const Item& item : queued_) {
      Path path = item.groups;
      while (!path.empty()) {
        const bool is_ready = IsReady(item, path.size() - 1);
        const int group = path.back();
        path.pop_back();
        if (is_ready) {
          ready[{item.priority, item.retry, path}].push_back(group);
        }
      }
    }
    for (auto& [id, ring] : rings_) {
      const std::vector<int>& groups = ready[id];
      ring.erase(std::remove_if(ring.begin(), ring.end(),
                                [&groups](const Turn& turn) {
                                  return !Contains(groups, turn.group);
                                }),
                 ring.end());
    }
    for (const auto& [id, groups] : ready) {
      Ring& ring = rings_[id];
      for (int group : groups) {
        if (std::any_of(ring.begin(), ring.end(), [group](const Turn& turn) {
              return turn.group == group;
            })) {
          continue;
        }
        ring.push_back({group, WeightOf(std::get<2>(id).size(), group)});
      }
    }
    for (auto it = retry_is_next_.begin(); it != retry_is_next_.end();) {
      const int priority = it->first;
      const bool has_items = std::any_of(
          queued_.begin(), queued_.end(),
          [priority](const Item& item) { return item.priority == priority; });
      it = has_items ? std::next(it) : retry_is_next_.erase(it);
    }
  }

  static bool Contains(const std::vector<int>& groups, int group) {
    return std::count(groups.begin(), groups.end(), group) > 0;
  }

  Options options_;
  std::vector<Item> queued_;      // in the order of Push()
  std::vector<Item> processing_;  // in the order in which they were handed out
  std::map<RingId, Ring> rings_;
  std::map<int, bool> retry_is_next_;  // by priority
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_FAIR_ORDERING_MODEL_H_
