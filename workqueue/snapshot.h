// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/snapshot.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_SNAPSHOT_H_
#define WORKQUEUE_SNAPSHOT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/internal/print_item.h"

namespace workqueue {

// Snapshot
//
// What is in a queue at one moment, for people who want to know why nothing
// happens: `Interface::TakeSnapshot()`.
//
// It can be printed, by `operator<<` and, with an Abseil that has
// `AbslStringify`, by `absl::StrCat()` and its kin, if its items can:
//
//     2 queued:
//       default/web (priority 10)
//       default/db (failures: 3)
//     1 processing:
//       default/cache for 1.5s, added again
//     1 waiting:
//       default/mail for another 30s (failures: 1)
template <typename T>
struct Snapshot {
  struct Queued {
    T item;
    int priority = 0;
    int failures = 0;  // that its rate limiter counts
  };

  struct Processing {
    T item;
    absl::Time since;          // may be some milliseconds early
    bool added_again = false;  // and will be queued when it is done with
    int failures = 0;
  };

  struct Waiting {
    T item;
    absl::Time ready_at;
    int priority = 0;
    int failures = 0;
  };

  absl::Time taken_at;
  bool shutting_down = false;
  std::vector<Queued> queued;          // the next one first
  std::vector<Processing> processing;  // the longest one first
  std::vector<Waiting> waiting;        // the soonest one first

  // For queues: puts `waiting`, filled in any order, in its order.
  void SortWaiting() {
    Sort(waiting, [](const std::vector<Waiting>& v, size_t a, size_t b) {
      return v[a].ready_at != v[b].ready_at ? v[a].ready_at < v[b].ready_at
                                            : v[a].priority > v[b].priority;
    });
  }

  // For queues: puts `queued`, filled in any order, in the order of priority
  // and, within one, of `sequences`, which has one for each.
  void SortQueued(const std::vector<int64_t>& sequences) {
    Sort(queued,
         [&sequences](const std::vector<Queued>& v, size_t a, size_t b) {
           return v[a].priority != v[b].priority ? v[a].priority > v[b].priority
                                                 : sequences[a] < sequences[b];
         });
  }

  // For queues: fills in the failures that `limiter`, a rate limiter, counts.
  template <typename Limiter>
  void CountFailures(Limiter& limiter) {
    for (Queued& it : queued) it.failures = limiter.NumRequeues(it.item);
    for (Processing& it : processing) {
      it.failures = limiter.NumRequeues(it.item);
    }
    for (Waiting& it : waiting) it.failures = limiter.NumRequeues(it.item);
  }

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
  // Sorts `v` by `less(v, i, j)`, without assigning: a `T` need not be
  // assignable.
  template <typename V, typename Less>
  static void Sort(std::vector<V>& v, Less less) {
    std::vector<size_t> order(v.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&v, &less](size_t a, size_t b) { return less(v, a, b); });
    std::vector<V> sorted;
    sorted.reserve(v.size());
    for (size_t i : order) sorted.push_back(std::move(v[i]));
    v.swap(sorted);
  }

  static void PrintItem(std::ostream& os, const T& item) {
    os << "  ";
    internal::PrintItem(os, item);
  }

  static void PrintNotes(std::ostream& os, int priority, int failures) {
    if (priority != 0) os << " (priority " << priority << ")";
    if (failures != 0) os << " (failures: " << failures << ")";
    os << "\n";
  }

  void Print(std::ostream& os) const {
    if (shutting_down) os << "shutting down\n";
    os << queued.size() << " queued" << (queued.empty() ? "\n" : ":\n");
    for (const Queued& it : queued) {
      PrintItem(os, it.item);
      PrintNotes(os, it.priority, it.failures);
    }
    os << processing.size() << " processing"
       << (processing.empty() ? "\n" : ":\n");
    for (const Processing& it : processing) {
      PrintItem(os, it.item);
      os << " for " << taken_at - it.since;
      if (it.added_again) os << ", added again";
      PrintNotes(os, /*priority=*/0, it.failures);
    }
    os << waiting.size() << " waiting" << (waiting.empty() ? "\n" : ":\n");
    for (const Waiting& it : waiting) {
      PrintItem(os, it.item);
      os << " for another " << it.ready_at - taken_at;
      PrintNotes(os, it.priority, it.failures);
    }
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_SNAPSHOT_H_
