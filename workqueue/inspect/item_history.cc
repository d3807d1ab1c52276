// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/item_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {

using internal::MutexLock;

namespace {

uint64_t& CountOf(InspectedEventKind kind, InspectedTotals* totals) {
  switch (kind) {
    case InspectedEventKind::kAdded:
      return totals->added;
    case InspectedEventKind::kRetried:
      return totals->retried;
    case InspectedEventKind::kHandedOut:
      return totals->handed_out;
    case InspectedEventKind::kSucceeded:
      return totals->succeeded;
    case InspectedEventKind::kFailed:
      break;
  }
  return totals->failed;
}

}  // namespace

ItemHistory::ItemHistory(size_t max_events)
    : max_events_(std::max<size_t>(max_events, 1)) {}

void ItemHistory::Record(InspectedEvent event) {
  MutexLock lock(&mu_);
  ++CountOf(event.kind, &totals_);
  if (events_.size() == max_events_) events_.pop_front();
  events_.push_back(std::move(event));
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
