// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines the checks of what the records of killed processes tell.
// Most of them are that of each item's history; see queue_history.h.

#ifndef WORKQUEUE_TEST_SHARED_KILL_CHECKS_H_
#define WORKQUEUE_TEST_SHARED_KILL_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "test/shared/kill_record.h"

namespace workqueue {

// KillViolation
//
// A broken promise of a `SharedQueue`. The checks find only what is certain
// whatever happened between the server and the records.
struct KillViolation {
  enum Kind {
    // An acknowledged add, after which nobody processed the item to its end.
    kLost,
    // An item was handed out while the lease of another worker was alive: for
    // its duration, and as long as it was not `lost()`.
    kOverlap,
    // An item was handed out that was not there.
    kNotAdded,
    // An item that had been added once, with a delay, came before it passed.
    kEarly,
    // `Done()` returned true of a lease that had ended.
    kStaleDone,
    // A token was handed out twice, or after a greater one.
    kToken,
    // A call failed for a reason that no test expects.
    kFailure,
    // The queue was not empty in the end.
    kStuck,
  };

  Kind kind;
  std::string text;
};

// KillReport
struct KillReport {
  int64_t adds_begun = 0;
  int64_t adds_acknowledged = 0;
  int64_t hand_outs = 0;
  int64_t done = 0;      // ends that are known to have been in time
  int64_t too_late = 0;  // ends of which `Done()` returned false
  int64_t never_ended = 0;
  std::vector<KillViolation> violations;

  bool Has(KillViolation::Kind kind) const;
  // Returns one line.
  std::string Summary() const;
  // Returns the first violations of each kind, and how many there are.
  std::string Violations() const;
};

// Checks the records of all processes. `lease` is the duration of a lease. The
// queue must have been emptied in the end.
KillReport CheckKillRecords(const std::vector<KillRecord>& records,
                            absl::Duration lease);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_KILL_CHECKS_H_
