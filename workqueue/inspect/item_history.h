// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_ITEM_HISTORY_H_
#define WORKQUEUE_INSPECT_ITEM_HISTORY_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// ItemHistory
//
// The last events of the items of one queue, and the numbers of all events so
// far: adds, hand-outs, and attempts with their results. A `HistoryTracer`
// records them, and an inspection shows them.
//
// Recording takes a lock of the history for constant time, and about 200 bytes
// for each event that is kept. Thread-safe.
class ItemHistory {
 public:
  // Keeps the last `max_events` events of all items together. Zero counts as 1.
  explicit ItemHistory(size_t max_events = 10'000);

  ItemHistory(const ItemHistory&) = delete;
  ItemHistory& operator=(const ItemHistory&) = delete;

  // Records an event, whose `key` and `what` are printable.
  void Record(InspectedEvent event);

  // Takes `add` back, which has been recorded, and which the queue has not
  // taken for certain: it does not count, and its text ends with `result`, for
  // example "not taken". Of several such adds of an item without another event
  // between them, the last one is kept. Takes O(n) for n events.
  void Refuse(const InspectedEvent& add, absl::string_view result);

  // Returns the numbers of all events so far.
  InspectedTotals totals() const;

  // Returns the last `max` events, the newest first. Takes O(`max`).
  std::vector<InspectedEvent> Last(size_t max) const;

  // Returns the last `max` events of the item `key`, the newest first. Takes
  // O(n) for n events.
  std::vector<InspectedEvent> Of(absl::string_view key, size_t max) const;

 private:
  const size_t max_events_;
  mutable sync::Mutex mu_;
  std::deque<InspectedEvent> events_ ABSL_GUARDED_BY(mu_);  // oldest first
  InspectedTotals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_ITEM_HISTORY_H_
