// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines the check of what concurrent clients saw of one item.
//
// It promises: the check finds nothing if, and only if, each operation can have
// happened at one moment between its begin and its end, so that all together
// are a run of a queue that does one thing at a time. The items of a queue do
// not depend on each other, so it is linearizable if each item is (Herlihy and
// Wing, 1990).
//
// The search is that of Wing and Gong (1993), just in time (Lowe, 2017): it
// goes through the begins and the ends, and keeps the states in which the queue
// can be. An operation happens at its end, or before if another one needs that.
// As in Porcupine, states that are equal are one. So it takes a time that grows
// with the operations, and with how many of them are in progress at a time.

#ifndef WORKQUEUE_TEST_SHARED_QUEUE_HISTORY_H_
#define WORKQUEUE_TEST_SHARED_QUEUE_HISTORY_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace workqueue {

// QueueOperation
//
// What a client did with an item.
struct QueueOperation {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  enum Kind : char {
    kAdd = 'A',       // The item is queued, or dirty.
    kAddLater = 'W',  // The same, at any time after that.
    kHandOut = 'H',   // It is handed out. Tokens grow.
    kDone = 'D',      // That processing ends.
    kGiveBack = 'G',  // The same, and the item is queued.
    kExpiry = 'X',    // The lease ends, and the item waits: as after kAddLater.
    kIsGone = 'I',    // The item is idle, and does not wait.
  };

  Kind kind;
  int64_t begin = 0;
  // `kNever`: it is not known whether it happened. It can have done so at any
  // time after its begin. A hand-out of which nobody knows ends with its lease;
  // then there can have been any number of them.
  int64_t end = kNever;
  int64_t token = 0;  // of all but adds
};

// What is wrong with a history.
struct HistoryViolation {
  QueueOperation operation;  // the first one that cannot have happened
  bool is_held;              // The item was being processed then.
  std::string text;
};

// Checks the operations of one item, in any order. The item is idle at first.
std::optional<HistoryViolation> CheckHistory(
    const std::vector<QueueOperation>& operations);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_QUEUE_HISTORY_H_
