// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_STORED_GROUPS_H_
#define WORKQUEUE_SHARED_INTERNAL_STORED_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"

namespace workqueue::internal {

// StoredGroups
//
// The order in which a queue with groups hands out its items, and what is in
// process: "Groups" in docs/shared-queue.md has the rules and the words.
//
// Each call takes as long as a few calls of the store, and one more for each
// lane of a group that is held from then on, or no longer.
//
// Thread-compatible.
class StoredGroups {
 public:
  // The numbers of all groups together. The queue keeps them.
  struct Numbers {
    int64_t most = kForever;
    int64_t most_retries = kForever;
    int64_t last_turn = 0;
    int64_t retries_queued = 0;
    int64_t retries_in_process = 0;
  };

  // Where an item is, as far as groups know.
  struct Where {
    enum Place { kNowhere, kQueued, kInProcess };

    bool operator==(const Where& other) const {
      return std::tie(place, group, retry, priority, sequence) ==
             std::tie(other.place, other.group, other.retry, other.priority,
                      other.sequence);
    }

    Place place = kNowhere;
    std::string group = {};
    bool retry = false;
    // Of a queued item only.
    int64_t weight = 1;
    int64_t priority = 0;
    int64_t sequence = 0;
  };

  // Neither is owned.
  StoredGroups(OrderedStore* store, Numbers* numbers)
      : store_(*store), numbers_(*numbers) {}

  // The item leaves one place, and comes to the other. A queued item that comes
  // into process is handed out: it was that of `Next()`.
  void Move(absl::string_view item, const Where& from, const Where& to);

  // Returns the item to hand out next. Nothing if none is queued, or all are
  // held.
  std::optional<std::string> Next();

  // Whether there may be one. If not, there is none.
  bool MayHaveNext() { return FirstTurn().has_value(); }

  // Holds no group any more that is below a new bound.
  void Repair();

  // Returns the bounds of the groups that have items in process, and that of
  // the retries; or those that hold back a queued item which is at `where`.
  std::vector<EngineSnapshot::Bound> Bounds();
  std::vector<EngineSnapshot::Bound> BoundsThatHold(const Where& where);

 private:
  // `Fields()` are what is stored. Their orders never change.

  // A lane of items, which has one at least.
  struct Lane {
    auto Fields() { return std::tie(items, turn, rest); }

    int64_t items = 0;
    int64_t turn = 0;
    int64_t rest = 0;  // 0: the turn has not begun
  };

  struct Group {
    auto Fields() { return std::tie(held, lanes, in_process); }

    bool held = false;
    int64_t lanes = 0;
    int64_t in_process = 0;
  };

  // The place of a lane: kind, minus the priority, group.
  struct LaneId {
    bool retry = false;
    int64_t minus_priority = 0;
    std::string group;
  };

  struct Priority {
    auto Fields() { return std::tie(queued, retry_is_next); }

    int64_t queued = 0;
    bool retry_is_next = false;
  };

  static std::string KeyOf(const LaneId& id);
  static std::string TurnOf(const LaneId& id, const Lane& lane);

  template <typename T>
  T Load(const std::string& key);
  Group LoadGroup(absl::string_view name);
  void SaveGroup(absl::string_view name, Group group);
  Lane LoadLane(const LaneId& id);
  void SaveLane(const LaneId& id, Lane lane);
  Priority LoadPriority(int64_t priority);
  void SavePriority(int64_t number, Priority priority);

  // Calls `f` with each lane of a group.
  template <typename F>
  void ForEachLane(absl::string_view group, F f);

  // The lane whose turn it is.
  std::optional<LaneId> FirstTurn();
  std::optional<LaneId> FirstTurn(bool retry);
  void Join(absl::string_view item, const Where& where);
  // The item is `handed_out`, or comes to another lane.
  void Leave(absl::string_view item, const Where& where, bool handed_out);
  void Hold(absl::string_view name, Group* group);
  void Release(absl::string_view name, Group* group);

  bool IsReached(const Group& group) const {
    return group.in_process >= numbers_.most;
  }
  bool RetriesAreReached() const {
    return numbers_.retries_in_process >= numbers_.most_retries;
  }
  // Appends some of the items whose keys begin with `prefix`.
  void List(const std::string& prefix, std::vector<std::string>* items);
  EngineSnapshot::Bound BoundOf(absl::string_view name, int64_t in_process);
  EngineSnapshot::Bound BoundOfRetries();

  OrderedStore& store_;
  Numbers& numbers_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_STORED_GROUPS_H_
