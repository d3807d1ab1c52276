// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/testing/internal/memory_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue::internal {
namespace {

using Bound = EngineSnapshot::Bound;

// How many of the items in process a bound lists.
constexpr size_t kListed = 10;

Bound NewBound(int64_t most, const std::set<std::string>& in_process) {
  Bound bound;
  bound.max = static_cast<size_t>(most);
  bound.processing = in_process.size();
  bound.items = {
      in_process.begin(),
      std::next(in_process.begin(),
                static_cast<int64_t>(std::min(kListed, in_process.size())))};
  return bound;
}

bool IsReached(int64_t most, const std::set<std::string>& in_process) {
  return static_cast<int64_t>(in_process.size()) >= most;
}

}  // namespace

void MemoryGroups::Move(const std::string& item, const Where& from,
                        const Where& to) {
  if (from == to) return;
  if (from.place == Where::kInProcess) {
    Group& group = groups_[from.group];
    group.in_process.erase(item);
    retries_.erase(item);
    Release(from.group, group);
  }
  if (from.place == Where::kQueued) {
    Leave(item, from, to.place == Where::kInProcess);
  }
  if (to.place == Where::kQueued) Join(item, to);
}

void MemoryGroups::Join(const std::string& item, const Where& where) {
  ++priorities_[where.priority].queued;
  Group& group = groups_[where.group];
  const auto lane =
      group.lanes.try_emplace({where.retry, -where.priority}).first;
  if (lane->second.items.empty()) {
    lane->second.turn = ++last_turn_;
    if (!group.held) turns_.insert(TurnOf(where.group, *lane));
  }
  lane->second.items.insert({where.sequence, item});
}

void MemoryGroups::Leave(const std::string& item, const Where& where,
                         bool handed_out) {
  const auto priority = priorities_.find(where.priority);
  if (handed_out) priority->second.retry_is_next = !where.retry;
  if (--priority->second.queued == 0) priorities_.erase(priority);

  const auto found = groups_.find(where.group);
  Group& group = found->second;
  const auto it = group.lanes.find({where.retry, -where.priority});
  Lane& lane = it->second;
  turns_.erase(TurnOf(where.group, *it));
  lane.items.erase({where.sequence, item});
  if (lane.items.empty()) {
    group.lanes.erase(it);
  } else {
    if (handed_out) {
      lane.rest = (lane.rest > 0 ? lane.rest : where.weight) - 1;
      if (lane.rest == 0) lane.turn = ++last_turn_;
    }
    if (!group.held) turns_.insert(TurnOf(where.group, *it));
  }
  if (handed_out) {
    group.in_process.insert(item);
    if (where.retry) retries_.insert(item);
    if (IsReached(most_, group.in_process)) Hold(where.group, group);
  } else if (group.lanes.empty() && group.in_process.empty()) {
    groups_.erase(found);
  }
}

void MemoryGroups::Hold(const std::string& name, Group& group) {
  group.held = true;
  for (const auto& lane : group.lanes) turns_.erase(TurnOf(name, lane));
}

void MemoryGroups::Release(const std::string& name, Group& group) {
  if (group.held && !IsReached(most_, group.in_process)) {
    group.held = false;
    ++last_turn_;
    for (auto& lane : group.lanes) {
      lane.second.turn = last_turn_;
      lane.second.rest = 0;
      turns_.insert(TurnOf(name, lane));
    }
  }
  if (group.lanes.empty() && group.in_process.empty()) groups_.erase(name);
}

void MemoryGroups::Repair() {
  for (auto& [name, group] : groups_) {
    if (!group.lanes.empty()) Release(name, group);
  }
}

auto MemoryGroups::FirstTurn() const -> const Turn* {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  const auto retry = turns_.lower_bound({true, kFirst, 0, ""});
  const bool has_addition = retry != turns_.begin();
  const bool has_retry =
      retry != turns_.end() && !IsReached(most_retries_, retries_);
  if (!has_retry) return has_addition ? &*turns_.begin() : nullptr;
  if (!has_addition) return &*retry;
  const int64_t of_addition = std::get<1>(*turns_.begin());
  const int64_t of_retry = std::get<1>(*retry);
  const bool retry_is_next = of_addition == of_retry
                                 ? priorities_.at(-of_retry).retry_is_next
                                 : of_retry < of_addition;
  return retry_is_next ? &*retry : &*turns_.begin();
}

std::optional<std::string> MemoryGroups::Next() {
  while (const Turn* const turn = FirstTurn()) {
    const auto& [retry, minus_priority, number, name] = *turn;
    const auto found = groups_.find(name);
    Group& group = found->second;
    if (!IsReached(most_, group.in_process)) {
      return group.lanes.at({retry, minus_priority}).items.begin()->second;
    }
    Hold(found->first, group);  // The bound is a new one.
  }
  return std::nullopt;
}

Bound MemoryGroups::BoundOf(const std::string& name, const Group& group) const {
  Bound bound = NewBound(most_, group.in_process);
  bound.group = name;
  for (const auto& [key, lane] : group.lanes) bound.queued += lane.items.size();
  return bound;
}

Bound MemoryGroups::BoundOfRetries() const {
  Bound bound = NewBound(most_retries_, retries_);
  bound.retries = true;
  for (const auto& [name, group] : groups_) {
    for (const auto& [key, lane] : group.lanes) {
      if (key.first) bound.queued += lane.items.size();
    }
  }
  return bound;
}

std::vector<Bound> MemoryGroups::Bounds() const {
  std::vector<Bound> bounds;
  for (const auto& [name, group] : groups_) {
    if (most_ == kForever || group.in_process.empty()) continue;
    bounds.push_back(BoundOf(name, group));
  }
  if (most_retries_ != kForever && !retries_.empty()) {
    bounds.push_back(BoundOfRetries());
  }
  return bounds;
}

std::vector<Bound> MemoryGroups::BoundsThatHold(const Where& where) const {
  std::vector<Bound> bounds;
  if (where.place != Where::kQueued) return bounds;
  const Group& group = groups_.at(where.group);
  if (IsReached(most_, group.in_process)) {
    bounds.push_back(BoundOf(where.group, group));
  }
  if (where.retry && IsReached(most_retries_, retries_)) {
    bounds.push_back(BoundOfRetries());
  }
  return bounds;
}

}  // namespace workqueue::internal
