// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The keys, of which each begins with a letter:
//
//     G group                            whether it is held, lanes, in process
//     H group                            that is held, and has lanes
//     L group, kind, -priority           a lane: items, turn, rest
//     Q group, kind, -priority, number, item    a queued item
//     T kind, -priority, turn, group     the turn of a lane that is not held
//     P priority                         items that are queued, the next kind
//     I group, item                      an item in process
//     R item                             a retry in process

#include "workqueue/shared/internal/stored_groups.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"

namespace workqueue::internal {
namespace {

using Bound = EngineSnapshot::Bound;

// How many of the items in process a bound lists.
constexpr size_t kListed = 10;

// So many groups that are held are looked at together.
constexpr size_t kRepaired = 1000;

std::string GroupKey(absl::string_view name) {
  return Packer("G").Rest(name).bytes();
}

std::string HeldKey(absl::string_view name) {
  return Packer("H").Rest(name).bytes();
}

std::string PriorityKey(int64_t priority) {
  return Packer("P").Ordered(priority).bytes();
}

std::string RetryKey(absl::string_view item) {
  return Packer("R").Rest(item).bytes();
}

std::string InProcessKey(absl::string_view group, absl::string_view item = "") {
  return Packer("I").Text(group).Rest(item).bytes();
}

std::string KindOf(bool retry) { return retry ? "1" : "0"; }

}  // namespace

// The lane without its letter.
std::string StoredGroups::KeyOf(const LaneId& id) {
  return Packer()
      .Text(id.group)
      .Rest(KindOf(id.retry))
      .Ordered(id.minus_priority)
      .bytes();
}

std::string StoredGroups::TurnOf(const LaneId& id, const Lane& lane) {
  return Packer("T")
      .Rest(KindOf(id.retry))
      .Ordered(id.minus_priority)
      .Ordered(lane.turn)
      .Rest(id.group)
      .bytes();
}

template <typename T>
T StoredGroups::Load(const std::string& key) {
  T loaded;
  const std::optional<std::string> bytes = store_.Get(key);
  if (bytes) Unpacker(*bytes).All(loaded.Fields());
  return loaded;
}

auto StoredGroups::LoadGroup(absl::string_view name) -> Group {
  return Load<Group>(GroupKey(name));
}

void StoredGroups::SaveGroup(absl::string_view name, Group group) {
  if (group.lanes == 0 && group.in_process == 0) {
    store_.Delete(GroupKey(name));
  } else {
    store_.Put(GroupKey(name), Packer().All(group.Fields()).bytes());
  }
  if (group.held && group.lanes > 0) {
    store_.Put(HeldKey(name), "");
  } else {
    store_.Delete(HeldKey(name));
  }
}

auto StoredGroups::LoadLane(const LaneId& id) -> Lane {
  return Load<Lane>("L" + KeyOf(id));
}

void StoredGroups::SaveLane(const LaneId& id, Lane lane) {
  const std::string key = "L" + KeyOf(id);
  if (lane.items == 0) return store_.Delete(key);
  store_.Put(key, Packer().All(lane.Fields()).bytes());
}

auto StoredGroups::LoadPriority(int64_t priority) -> Priority {
  return Load<Priority>(PriorityKey(priority));
}

void StoredGroups::SavePriority(int64_t number, Priority priority) {
  if (priority.queued == 0) return store_.Delete(PriorityKey(number));
  store_.Put(PriorityKey(number), Packer().All(priority.Fields()).bytes());
}

template <typename F>
void StoredGroups::ForEachLane(absl::string_view group, F f) {
  const std::string prefix = Packer("L").Text(group).bytes();
  std::string after;
  while (const auto entry = store_.First(prefix, after)) {
    after = entry->key;
    LaneId id;
    id.group = std::string(group);
    id.retry = after[prefix.size()] == '1';
    id.minus_priority =
        Unpacker(absl::string_view(after).substr(prefix.size() + 1)).Ordered();
    f(id, LoadLane(id));
  }
}

void StoredGroups::Move(absl::string_view item, const Where& from,
                        const Where& to) {
  if (from == to) return;
  if (from.place == Where::kInProcess) {
    Group group = LoadGroup(from.group);
    --group.in_process;
    store_.Delete(InProcessKey(from.group, item));
    if (from.retry) {
      --numbers_.retries_in_process;
      store_.Delete(RetryKey(item));
    }
    Release(from.group, &group);
    SaveGroup(from.group, group);
  }
  if (from.place == Where::kQueued) {
    Leave(item, from, to.place == Where::kInProcess);
  }
  if (to.place == Where::kQueued) Join(item, to);
}

void StoredGroups::Join(absl::string_view item, const Where& where) {
  Priority priority = LoadPriority(where.priority);
  ++priority.queued;
  SavePriority(where.priority, priority);
  if (where.retry) ++numbers_.retries_queued;

  const LaneId id = {where.retry, -where.priority, where.group};
  Lane lane = LoadLane(id);
  if (++lane.items == 1) {
    Group group = LoadGroup(where.group);
    ++group.lanes;
    SaveGroup(where.group, group);
    lane.turn = ++numbers_.last_turn;
    if (!group.held) store_.Put(TurnOf(id, lane), "");
  }
  SaveLane(id, lane);
  store_.Put(
      Packer("Q").Rest(KeyOf(id)).Ordered(where.sequence).Rest(item).bytes(),
      "");
}

void StoredGroups::Leave(absl::string_view item, const Where& where,
                         bool handed_out) {
  Priority priority = LoadPriority(where.priority);
  if (handed_out) priority.retry_is_next = !where.retry;
  --priority.queued;
  SavePriority(where.priority, priority);
  if (where.retry) --numbers_.retries_queued;

  Group group = LoadGroup(where.group);
  const LaneId id = {where.retry, -where.priority, where.group};
  Lane lane = LoadLane(id);
  store_.Delete(
      Packer("Q").Rest(KeyOf(id)).Ordered(where.sequence).Rest(item).bytes());
  const std::string turn = TurnOf(id, lane);
  if (--lane.items == 0) {
    --group.lanes;
    store_.Delete(turn);
  } else if (handed_out) {
    lane.rest = (lane.rest > 0 ? lane.rest : where.weight) - 1;
    if (lane.rest == 0) {
      store_.Delete(turn);
      lane.turn = ++numbers_.last_turn;
      if (!group.held) store_.Put(TurnOf(id, lane), "");
    }
  }
  SaveLane(id, lane);
  if (handed_out) {
    ++group.in_process;
    store_.Put(InProcessKey(where.group, item), "");
    if (where.retry) {
      ++numbers_.retries_in_process;
      store_.Put(RetryKey(item), "");
    }
    if (IsReached(group)) Hold(where.group, &group);
  }
  SaveGroup(where.group, group);
}

void StoredGroups::Hold(absl::string_view name, Group* group) {
  group->held = true;
  ForEachLane(name, [this](const LaneId& id, const Lane& lane) {
    store_.Delete(TurnOf(id, lane));
  });
}

void StoredGroups::Release(absl::string_view name, Group* group) {
  if (!group->held || IsReached(*group)) return;
  group->held = false;
  const int64_t turn = ++numbers_.last_turn;
  ForEachLane(name, [this, turn](const LaneId& id, Lane lane) {
    lane.turn = turn;
    lane.rest = 0;
    SaveLane(id, lane);
    store_.Put(TurnOf(id, lane), "");
  });
}

void StoredGroups::Repair() {
  store_.Prefetch({{}, {{"H", kRepaired, "G", 1}}});
  std::string after;
  while (const auto entry = store_.First("H", after)) {
    after = entry->key;
    const std::string name = after.substr(1);
    Group group = LoadGroup(name);
    if (IsReached(group)) continue;
    Release(name, &group);
    SaveGroup(name, group);
  }
}

auto StoredGroups::FirstTurn(bool retry) -> std::optional<LaneId> {
  const auto entry = store_.First("T" + KindOf(retry));
  if (!entry) return std::nullopt;
  Unpacker from(absl::string_view(entry->key).substr(2));
  LaneId id;
  id.retry = retry;
  id.minus_priority = from.Ordered();
  from.Ordered();  // the turn
  id.group = from.Rest();
  return id;
}

auto StoredGroups::FirstTurn() -> std::optional<LaneId> {
  std::optional<LaneId> addition = FirstTurn(/*retry=*/false);
  if (RetriesAreReached()) return addition;
  std::optional<LaneId> retry = FirstTurn(/*retry=*/true);
  if (!addition || !retry) return addition ? addition : retry;
  const bool retry_is_next =
      addition->minus_priority == retry->minus_priority
          ? LoadPriority(-retry->minus_priority).retry_is_next
          : retry->minus_priority < addition->minus_priority;
  return retry_is_next ? retry : addition;
}

std::optional<std::string> StoredGroups::Next() {
  while (const std::optional<LaneId> id = FirstTurn()) {
    Group group = LoadGroup(id->group);
    if (!IsReached(group)) {
      const std::string prefix = "Q" + KeyOf(*id);
      const auto entry = store_.First(prefix);
      if (!entry) return std::nullopt;
      return entry->key.substr(prefix.size() + sizeof(int64_t));
    }
    Hold(id->group, &group);  // The bound is a new one.
    SaveGroup(id->group, group);
  }
  return std::nullopt;
}

void StoredGroups::List(const std::string& prefix,
                        std::vector<std::string>* items) {
  std::string after;
  while (items->size() < kListed) {
    const auto entry = store_.First(prefix, after);
    if (!entry) return;
    after = entry->key;
    items->push_back(after.substr(prefix.size()));
  }
}

Bound StoredGroups::BoundOf(absl::string_view name, int64_t in_process) {
  Bound bound;
  bound.group = std::string(name);
  bound.max = static_cast<size_t>(numbers_.most);
  bound.processing = static_cast<size_t>(in_process);
  ForEachLane(name, [&bound](const LaneId& /*id*/, const Lane& lane) {
    bound.queued += static_cast<size_t>(lane.items);
  });
  List(InProcessKey(name), &bound.items);
  return bound;
}

Bound StoredGroups::BoundOfRetries() {
  Bound bound;
  bound.retries = true;
  bound.max = static_cast<size_t>(numbers_.most_retries);
  bound.processing = static_cast<size_t>(numbers_.retries_in_process);
  bound.queued = static_cast<size_t>(numbers_.retries_queued);
  List("R", &bound.items);
  return bound;
}

std::vector<Bound> StoredGroups::Bounds() {
  std::vector<Bound> bounds;
  std::string after;
  while (numbers_.most != kForever) {
    // Not all groups: many may only wait.
    const auto entry = store_.First("I", after);
    if (!entry) break;
    after = entry->key;
    const std::string name =
        Unpacker(absl::string_view(after).substr(1)).Text();
    if (bounds.empty() || bounds.back().group != name) {
      bounds.push_back(BoundOf(name, /*in_process=*/0));
    }
    ++bounds.back().processing;
  }
  if (numbers_.most_retries != kForever && numbers_.retries_in_process > 0) {
    bounds.push_back(BoundOfRetries());
  }
  return bounds;
}

std::vector<Bound> StoredGroups::BoundsThatHold(const Where& where) {
  std::vector<Bound> bounds;
  if (where.place != Where::kQueued) return bounds;
  const Group group = LoadGroup(where.group);
  if (IsReached(group)) {
    bounds.push_back(BoundOf(where.group, group.in_process));
  }
  if (where.retry && RetriesAreReached()) bounds.push_back(BoundOfRetries());
  return bounds;
}

}  // namespace workqueue::internal
