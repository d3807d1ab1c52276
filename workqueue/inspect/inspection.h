// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECTION_H_
#define WORKQUEUE_INSPECT_INSPECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// InspectedItem
//
// An item in a queue, or a task in a scheduler.
struct InspectedItem {
  // The item as text, on one line. Control characters, backslashes and bytes
  // that are not UTF-8 are escaped as `absl::CEscape()` does. Never cut if
  // there is a codec (`InspectOptions::codec`), and otherwise after 256 bytes.
  std::string key;

  // Of a queued item: when it was added. Of an item being processed: when it
  // was handed out. Of a waiting item: when it is due.
  absl::Time time;

  int priority = 0;
  int failures = 0;          // as counted by the rate limiter
  std::string last_error;    // printable; empty if unknown
  bool added_again = false;  // queued again when its processing ends

  // Of an item being processed in a queue that several processes share: the
  // process that holds it, printable, and when the lease expires unless it is
  // renewed.
  std::string holder = {};
  absl::Time held_until = absl::InfiniteFuture();
};

// InspectedClient
//
// A process that uses a queue which several processes share.
using InspectedClient = SnapshotBase::Client;

// InspectedFailure
//
// An item that has failed and is tried again.
struct InspectedFailure {
  std::string key;
  int failures = 0;
  std::string last_error;  // printable
  absl::Time first_failed_at;
  absl::Time last_failed_at;

  // When the next try is due, if the item waits. An item that does not wait is
  // queued or being processed.
  std::optional<absl::Time> next_try_at;
};

// InspectedParkedItem
//
// An item that a controller has given up: it is not tried again.
struct InspectedParkedItem {
  std::string key;
  int failures = 0;
  std::string last_error;  // printable
  absl::Time first_failed_at;
  absl::Time parked_at;
};

// InspectedGroup
//
// The items whose keys have the same text before the first slash, for example
// those of one namespace.
struct InspectedGroup {
  std::string name;
  size_t items = 0;
};

// InspectedBound
//
// A bound on the items that are processed at the same time: see
// `OrderingBound`.
struct InspectedBound {
  std::string name;  // printable
  size_t max = 0;
  size_t processing = 0;
  bool holds_back = false;
  std::vector<std::string> keys;  // of the items; there may be more of them
  std::optional<size_t> queued = std::nullopt;  // items that it concerns
  // When the processing of the last of the items began, if it is known of all.
  std::optional<absl::Time> full_since = std::nullopt;
};

// InspectedEventKind
//
// The kinds of events in the history of an item.
enum class InspectedEventKind {
  kAdded,      // by any add but a rate limited one
  kRetried,    // by a rate limited add
  kHandedOut,  // to a worker
  kSucceeded,  // a reconciliation
  kFailed,     // a reconciliation
  kNotNow,     // a reconciliation (`ReconcileResult::not_now`); never counted
};

// InspectedEvent
//
// An event in the history of an item.
struct InspectedEvent {
  absl::Time time;
  std::string key;   // as `InspectedItem::key`
  std::string what;  // printable, for example "failed after 2s: NOT_FOUND: web"
  InspectedEventKind kind = InspectedEventKind::kAdded;
};

// InspectedCounts
//
// A number of each kind of events.
template <typename N>
struct InspectedCounts {
  N added = 0;
  N retried = 0;
  N handed_out = 0;
  N succeeded = 0;
  N failed = 0;
};

// InspectedTotals
//
// The numbers of all events since the begin.
using InspectedTotals = InspectedCounts<uint64_t>;

// Inspection
//
// The contents of a queue, a controller or a scheduler at one moment, as text,
// and bounded in size. `clients` is in the order of the names. Only a
// controller that gives up on items has parked items.
struct Inspection : SnapshotBase {
  // OK if the work goes on, and otherwise the reason why it does not.
  absl::Status health;

  // The maximum number of items that this process processes at the same time,
  // if known.
  std::optional<size_t> num_workers;

  // Those of `num_processing_here` whose leases are lost, processed longest
  // first. They are not in `num_processing`.
  std::vector<InspectedItem> lost_here;

  std::vector<InspectedItem> queued;        // in the order of handing out
  std::vector<InspectedItem> processing;    // processed longest first
  std::vector<InspectedItem> waiting;       // in the order of their times
  std::vector<InspectedFailure> failing;    // most failures first
  std::vector<InspectedParkedItem> parked;  // the last parked one first

  // The bounds that count items being processed, those that hold queued items
  // back first. If the inspection is that of one item, those that hold it back.
  std::vector<InspectedBound> bounds;

  // The groups of the next `num_grouped` queued items, the largest first. There
  // are `num_groups` of at least two items.
  size_t num_grouped = 0;
  size_t num_groups = 0;
  std::vector<InspectedGroup> groups;

  // The last events, the newest first. Of one item, if the inspection is that
  // of one item. If nobody records events, there are neither events nor totals.
  std::vector<InspectedEvent> events;
  std::optional<InspectedTotals> totals;

  // Names and values of options.
  std::vector<std::pair<std::string, std::string>> options;
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECTION_H_
