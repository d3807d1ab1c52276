// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_SNAPSHOT_ORDER_H_
#define WORKQUEUE_INTERNAL_SNAPSHOT_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "workqueue/snapshot.h"

namespace workqueue::internal {

// Sorts `*items` by `key(item)` and, within a key, by `sequences`. This has one
// number for each item; if it is empty, items of one key keep their order. Does
// not assign elements, because a `T` need not be assignable.
template <typename V, typename Key>
void SortBy(std::vector<V>* items, const std::vector<int64_t>& sequences,
            Key key) {
  std::vector<size_t> order(items->size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    return std::make_pair(key((*items)[i]),
                          sequences.empty() ? 0 : sequences[i]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  std::vector<V> sorted;
  sorted.reserve(items->size());
  for (size_t i : order) sorted.push_back(std::move((*items)[i]));
  items->swap(sorted);
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
