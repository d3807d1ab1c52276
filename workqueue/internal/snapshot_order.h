// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_SNAPSHOT_ORDER_H_
#define WORKQUEUE_INTERNAL_SNAPSHOT_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "workqueue/snapshot.h"

namespace workqueue::internal {

// Sorts `*v` by `less(i, j)`, which compares the elements at two indices. Does
// not assign elements, because a `T` need not be assignable.
template <typename V, typename Less>
void SortByIndex(std::vector<V>* v, Less less) {
  std::vector<size_t> order(v->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<V> sorted;
  sorted.reserve(v->size());
  for (size_t i : order) sorted.push_back(std::move((*v)[i]));
  v->swap(sorted);
}

// Sorts the waiting items of `*snapshot` by their times. Items of one time keep
// their order.
template <typename T>
void SortWaiting(Snapshot<T>* snapshot) {
  const auto& waiting = snapshot->waiting;
  SortByIndex(&snapshot->waiting, [&waiting](size_t a, size_t b) {
    return waiting[a].ready_at < waiting[b].ready_at;
  });
}

// Sorts the waiting items of `*snapshot` by their times and, within a time, by
// `sequences`. This has one number for each item; if it is empty, the items are
// in order already.
template <typename T>
void SortWaiting(Snapshot<T>* snapshot, const std::vector<int64_t>& sequences) {
  if (sequences.empty()) return;
  const auto& waiting = snapshot->waiting;
  SortByIndex(&snapshot->waiting, [&waiting, &sequences](size_t a, size_t b) {
    return std::tie(waiting[a].ready_at, sequences[a]) <
           std::tie(waiting[b].ready_at, sequences[b]);
  });
}

// Sorts the queued items of `*snapshot` by priority, the highest first, and,
// within a priority, by `sequences`, as `SortWaiting()` does.
template <typename T>
void SortQueued(Snapshot<T>* snapshot, const std::vector<int64_t>& sequences) {
  if (sequences.empty()) return;
  const auto& queued = snapshot->queued;
  SortByIndex(&snapshot->queued, [&queued, &sequences](size_t a, size_t b) {
    return std::tie(queued[b].priority, sequences[a]) <
           std::tie(queued[a].priority, sequences[b]);
  });
}

// Sets the number of failures of each item in `*snapshot`, as counted by
// `limiter`, a rate limiter.
template <typename T, typename Limiter>
void CountFailures(Snapshot<T>* snapshot, Limiter& limiter) {
  const auto count = [&limiter](auto& items) {
    for (auto& it : items) it.failures = limiter.NumRequeues(it.item);
  };
  count(snapshot->queued);
  count(snapshot->processing);
  count(snapshot->waiting);
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_SNAPSHOT_ORDER_H_
