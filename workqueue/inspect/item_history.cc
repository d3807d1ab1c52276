// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/item_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {

using internal::MutexLock;

namespace {

// Returns null if the kind is not counted.
uint64_t* CountOf(InspectedEventKind kind, InspectedTotals* totals) {
  switch (kind) {
    case InspectedEventKind::kAdded:
      return &totals->added;
    case InspectedEventKind::kRetried:
      return &totals->retried;
    case InspectedEventKind::kHandedOut:
      return &totals->handed_out;
    case InspectedEventKind::kSucceeded:
      return &totals->succeeded;
    case InspectedEventKind::kFailed:
      return &totals->failed;
    case InspectedEventKind::kNotNow:
      break;
  }
  return nullptr;
}

}  // namespace

ItemHistory::ItemHistory(size_t max_events)
    : max_events_(std::max<size_t>(max_events, 1)) {}

void ItemHistory::Record(InspectedEvent event) {
  MutexLock lock(&mu_);
  if (uint64_t* const count = CountOf(event.kind, &totals_)) ++*count;
  if (events_.size() == max_events_) events_.pop_front();
  events_.push_back(std::move(event));
}

void ItemHistory::Refuse(const InspectedEvent& add, absl::string_view result) {
  MutexLock lock(&mu_);
  uint64_t* const count = CountOf(add.kind, &totals_);
  if (count != nullptr && *count > 0) --*count;
  const auto of_item = [&add](const InspectedEvent& it) {
    return it.key == add.key;
  };
  const auto event = std::find_if(
      events_.rbegin(), events_.rend(), [&](const InspectedEvent& it) {
        return it.time == add.time && it.what == add.what && of_item(it);
      });
  if (event == events_.rend()) return;
  absl::StrAppend(&event->what, ", ", result);
  const auto before = std::find_if(event + 1, events_.rend(), of_item);
  if (before == events_.rend() || before->what != event->what) return;
  events_.erase(std::next(before).base());
}

InspectedTotals ItemHistory::totals() const {
  MutexLock lock(&mu_);
  return totals_;
}

std::vector<InspectedEvent> ItemHistory::Last(size_t max) const {
  MutexLock lock(&mu_);
  return {events_.rbegin(), events_.rbegin() + std::min(max, events_.size())};
}

std::vector<InspectedEvent> ItemHistory::Of(absl::string_view key,
                                            size_t max) const {
  std::vector<InspectedEvent> result;
  MutexLock lock(&mu_);
  for (auto it = events_.rbegin(); it != events_.rend() && result.size() < max;
       ++it) {
    if (it->key == key) result.push_back(*it);
  }
  return result;
}

}  // namespace workqueue
