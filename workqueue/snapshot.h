// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SNAPSHOT_H_
#define WORKQUEUE_SNAPSHOT_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/base/printable.h"
#include "workqueue/ordering.h"

namespace workqueue {

// FailedItem
//
// An item that has failed, and has neither succeeded since nor been given up.
template <typename T>
struct FailedItem {
  T item;
  bool parked;             // and so not retried; see `Failures`
  int failures;            // consecutive ones
  std::string last_error;  // printable, cut after 256 bytes
  // Times of the queue's clock. A parked item was parked at its last failure.
  absl::Time first_failed_at;
  absl::Time last_failed_at;
  // When it is tried again, if it waits. It may also be queued or processed.
  std::optional<absl::Time> next_try_at = std::nullopt;
};

// SnapshotBase
//
// The parts of a `Snapshot` that do not depend on the type of its items.
struct SnapshotBase {
  // A process that uses a queue which several processes share.
  struct Client {
    std::string name;     // `SharedQueueOptions::client_name`, printable
    std::string version;  // of its library, printable; empty if not known
    // When the engine has heard of it last; infinitely long ago if not known.
    // It is up to 15 seconds early while nothing happens.
    absl::Time last_seen;
    size_t waiting_workers = 0;
    size_t processing = 0;  // the items that it holds
  };

  absl::Time taken_at;
  bool shutting_down = false;

  // The numbers of all items in the queue, at least the sizes of the lists.
  size_t num_queued = 0;
  size_t num_processing = 0;
  size_t num_waiting = 0;

  // The numbers of items that fail and are not parked, and that are parked, if
  // they are known: a queue in memory does not count them, but a controller
  // does.
  std::optional<size_t> num_failing;
  std::optional<size_t> num_parked;

  // How many items the workers of this process have, if there are others.
  std::optional<size_t> num_processing_here;

  // Which settings of the engine that has the queue may lose items, or cannot
  // be seen, as one printable line. Empty if none is known.
  std::string settings_problem;

  // When this process has seen that the engine had lost all items; null if it
  // has not.
  std::optional<absl::Time> data_lost_at;

  // The items that this process cannot decode, as printable bytes. The numbers
  // count them, and no list has them.
  std::vector<std::string> undecodable;

  // If `SnapshotOptions::details` is set, and they are known.
  std::vector<Client> clients;
};

// Snapshot
//
// A copy of the contents of a queue at one moment, for debugging.
// `Interface::TakeSnapshot()` returns it. A snapshot can have copies of some
// items only (see `SnapshotOptions`); the numbers are of all items.
//
// A snapshot is printable if its items are, with `operator<<`. It is also
// printable with `absl::StrCat()` and similar functions if Abseil has
// `AbslStringify`. Each item is on one line: control characters, backslashes
// and bytes that are not UTF-8 are escaped as `absl::CEscape()` does. An item
// is cut after 256 bytes, and its size follows. Example:
//
//     2 queued:
//       default/web for 200ms (priority 10)
//       default/db for 15ms (failures: 3)
//     1 processing:
//       default/cache for 1.5s, added again
//     1 waiting:
//       default/mail for another 30s (failures: 1, last error: NOT_FOUND: a)
//     1 parked:
//       default/bad for 2h (failures: 10, last error: NOT_FOUND: b)
//
// If there are more items than the snapshot has, the heading says so, as in "2
// of 1000000 queued:".
//
// Only a controller, or a queue that keeps the failures of its items itself,
// knows errors: see `Controller::TakeSnapshot()`.
template <typename T>
struct Snapshot : SnapshotBase {
  struct Queued {
    T item;
    absl::Time since;  // of the add; may be a few milliseconds early
    int priority = 0;
    int failures = 0;        // as counted by the rate limiter
    std::string last_error;  // printable; empty if there is or was none
  };

  struct Processing {
    T item;
    absl::Time since;          // may be a few milliseconds early
    bool added_again = false;  // queued again when its processing ends
    int failures = 0;
    std::string last_error;
    // Of a queue that several processes share: the name of the process that
    // holds the item, printable, and when its lease expires unless it is
    // renewed.
    std::string holder = {};
    absl::Time held_until = absl::InfiniteFuture();
  };

  struct Waiting {
    T item;
    absl::Time ready_at;
    int priority = 0;
    int failures = 0;
    std::string last_error;
  };

  std::vector<Queued> queued;          // in the order of handing out
  std::vector<Processing> processing;  // in the order of their handing out
  std::vector<Waiting> waiting;        // in the order of `ready_at`

  // Those of `num_processing_here` whose leases are lost, so that another
  // worker may have them, too, in the order in which the workers took them.
  // `added_again` if the item has come back to this process, and waits there
  // for the end.
  std::vector<Processing> lost_here;

  // If `SnapshotOptions::details` is set, and they are known.
  std::vector<FailedItem<T>> failing;  // most failures first
  std::vector<FailedItem<T>> parked;   // the last parked one first

  // The bounds of the queue's `Ordering` that count items being processed. In
  // the snapshot of one item, those that hold this item back.
  std::vector<OrderingBound<T>> bounds;

  friend std::ostream& operator<<(std::ostream& os, const Snapshot& snapshot) {
    snapshot.Print(os);
    return os;
  }

  template <typename Sink>
  friend void AbslStringify(Sink& sink, const Snapshot& snapshot) {
    std::ostringstream os;
    snapshot.Print(os);
    sink.Append(os.str());
  }

 private:
  // `listed` is the number of items that follow, of `all`.
  static void PrintHeading(std::ostream& os, size_t listed, size_t all,
                           const char* what) {
    os << listed;
    if (listed < all) os << " of " << all;
    os << what << (listed == 0 ? "\n" : ":\n");
  }

  static void PrintItem(std::ostream& os, const T& item) {
    os << "  ";
    internal::PrintItem(os, item);
  }

  static void PrintNotes(std::ostream& os, int priority, int failures,
                         const std::string& last_error) {
    if (priority != 0) os << " (priority " << priority << ")";
    const bool failed = failures != 0 || !last_error.empty();
    if (failed) os << " (failures: " << failures;
    if (!last_error.empty()) os << ", last error: " << last_error;
    os << (failed ? ")\n" : "\n");
  }

  void Print(std::ostream& os) const {
    if (shutting_down) os << "shutting down\n";
    if (!settings_problem.empty()) {
      os << "may lose items: " << settings_problem << "\n";
    }
    PrintHeading(os, queued.size(), num_queued, " queued");
    for (const Queued& it : queued) {
      PrintItem(os, it.item);
      os << " for " << taken_at - it.since;
      PrintNotes(os, it.priority, it.failures, it.last_error);
    }
    PrintHeading(os, processing.size(), num_processing, " processing");
    for (const Processing& it : processing) {
      PrintItem(os, it.item);
      os << " for " << taken_at - it.since;
      if (it.added_again) os << ", added again";
      if (!it.holder.empty()) os << ", by " << it.holder;
      PrintNotes(os, /*priority=*/0, it.failures, it.last_error);
    }
    PrintHeading(os, waiting.size(), num_waiting, " waiting");
    for (const Waiting& it : waiting) {
      PrintItem(os, it.item);
      os << " for another " << it.ready_at - taken_at;
      PrintNotes(os, it.priority, it.failures, it.last_error);
    }
    if (num_parked.value_or(0) > 0) {
      PrintHeading(os, parked.size(), *num_parked, " parked");
    }
    for (const FailedItem<T>& it : parked) {
      PrintItem(os, it.item);
      os << " for " << taken_at - it.last_failed_at;
      PrintNotes(os, /*priority=*/0, it.failures, it.last_error);
    }
    for (const OrderingBound<T>& it : bounds) {
      if (!it.holds_back) continue;
      os << it.name << " is at its bound of " << it.max << ", because of:\n";
      for (const T& item : it.items) {
        PrintItem(os, item);
        os << "\n";
      }
    }
  }
};

// SnapshotOptions
//
// Which items a snapshot has copies of. By default, all.
template <typename T>
struct SnapshotOptions {
  // At most this many of each state: the queued items that are handed out next,
  // the items whose processing began first, and the waiting items that are due
  // first. With zero, the snapshot has the numbers only.
  size_t max = (std::numeric_limits<size_t>::max)();

  // If not null, copies of this item only: each list has one element if the
  // item is in this state, and otherwise none. (A waiting item may be queued or
  // being processed, too.) `max` is ignored then. Not owned.
  const T* only = nullptr;

  // Whether a delaying queue counts its waiting items. Without them, it only
  // asks the queue below, and so waits for no item that is being added to it.
  // Other queues always count theirs.
  bool waiting = true;

  // Whether to list the items that fail or are parked, and the processes that
  // use the queue, too.
  bool details = false;

  // How long a queue waits at most for the engine that has its items, on the
  // machine's clock. A queue in memory has no engine.
  absl::Duration timeout = absl::InfiniteDuration();

  // Whether to ask no engine. Then a queue that has its items in one knows only
  // what the workers of this process have: `processing`, `num_processing_here`
  // and `lost_here`.
  bool here_only = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_SNAPSHOT_H_
