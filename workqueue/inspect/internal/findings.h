// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_FINDINGS_H_
#define WORKQUEUE_INSPECT_INTERNAL_FINDINGS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue::internal {

// A state that a person on call should know first.
struct Finding {
  // A sentence. If there is a key, the key is the subject of the sentence, and
  // `text` is the rest, for example "has failed 37 times in 20m".
  std::string text;
  std::string key;
};

// So many queued items must have been looked at before a group that has more
// than half of them is a finding: a few items are no flood.
constexpr size_t kMinFlood = 100;

// Returns the findings in `inspection`, the most serious kind first:
//
//   * the health is not OK,
//   * the engine has lost all items, in the last hour,
//   * the settings of the engine may lose items,
//   * items cannot be decoded,
//   * a process that holds items is silent,
//   * the lease of an item that is processed here is lost,
//   * all workers are busy, and one of the next items has been queued for more
//     than a second,
//   * a bound holds queued items back, because of items that have all been
//     processed for more than a minute,
//   * an item has been processed for more than a minute,
//   * an item has failed at least five times,
//   * items are parked,
//   * one group has more than half of the next queued items, and there are at
//     least `kMinFlood` of them,
//   * the item that is handed out next has been queued for more than a minute.
//
// Names at most three items of each kind, and says how many more there are. All
// texts are on one line.
std::vector<Finding> Findings(const Inspection& inspection);

// Returns `InspectedBound::full_since` of `bound`.
std::optional<absl::Time> FullSince(
    const InspectedBound& bound, const std::vector<InspectedItem>& processing);

// Counts the groups of the first `max_items` queued items of `*inspection`, and
// keeps the ten largest. A group of one item is no group.
void GroupQueued(size_t max_items, Inspection* inspection);

// Keeps the first `max_items` items of each list of `*inspection`.
void KeepFirst(size_t max_items, Inspection* inspection);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_FINDINGS_H_
