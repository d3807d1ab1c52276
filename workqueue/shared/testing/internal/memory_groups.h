// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_GROUPS_H_
#define WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_GROUPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue::internal {

// MemoryGroups
//
// The order in which a queue with groups hands out its items, and what is in
// process: "Groups" in docs/shared-queue.md has the rules and the words.
//
// For n items, each call takes O(log n), and one step more for each lane of a
// group that is held from then on, or no longer.
//
// Thread-compatible.
class MemoryGroups {
 public:
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

  // The bounds of a group, and of the retries, from now on. A group that has
  // more in process is held when its turn comes.
  void SetBounds(int64_t of_group, int64_t of_retries) {
    most_ = of_group;
    most_retries_ = of_retries;
  }

  // The item leaves one place, and comes to the other. A queued item that comes
  // into process is handed out: it was that of `Next()`.
  void Move(const std::string& item, const Where& from, const Where& to);

  // Returns the item to hand out next. Nothing if none is queued, or all are
  // held.
  std::optional<std::string> Next();

  // Whether there may be one. If not, there is none.
  bool MayHaveNext() const { return FirstTurn() != nullptr; }

  // Holds no group any more that is below a new bound.
  void Repair();

  // Returns the bounds of the groups that have items in process, and that of
  // the retries; or those that hold back a queued item which is at `where`.
  std::vector<EngineSnapshot::Bound> Bounds() const;
  std::vector<EngineSnapshot::Bound> BoundsThatHold(const Where& where) const;

 private:
  struct Lane {
    std::set<std::pair<int64_t, std::string>> items;  // sequence
    int64_t turn = 0;
    int64_t rest = 0;  // 0: the turn has not begun
  };

  struct Group {
    bool held = false;
    // By kind and minus the priority.
    std::map<std::pair<bool, int64_t>, Lane> lanes;
    std::set<std::string> in_process;
  };

  struct Priority {
    int64_t queued = 0;
    bool retry_is_next = false;
  };

  // Kind, minus the priority, turn, group. Of each lane whose group is not
  // held.
  using Turn = std::tuple<bool, int64_t, int64_t, std::string>;

  static Turn TurnOf(const std::string& group,
                     const std::pair<std::pair<bool, int64_t>, Lane>& lane) {
    return {lane.first.first, lane.first.second, lane.second.turn, group};
  }

  const Turn* FirstTurn() const;
  void Join(const std::string& item, const Where& where);
  // The item is `handed_out`, or comes to another lane.
  void Leave(const std::string& item, const Where& where, bool handed_out);
  void Hold(const std::string& name, Group& group);
  void Release(const std::string& name, Group& group);

  EngineSnapshot::Bound BoundOf(const std::string& name,
                                const Group& group) const;
  EngineSnapshot::Bound BoundOfRetries() const;

  int64_t most_ = kForever;
  int64_t most_retries_ = kForever;
  int64_t last_turn_ = 0;
  std::map<std::string, Group> groups_;
  std::set<Turn> turns_;
  std::map<int64_t, Priority> priorities_;
  std::set<std::string> retries_;  // in process
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_TESTING_INTERNAL_MEMORY_GROUPS_H_
