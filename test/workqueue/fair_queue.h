// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Priority queues of `cluster/namespace/name` keys with a `FairOrdering`.

#ifndef WORKQUEUE_TEST_WORKQUEUE_FAIR_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_FAIR_QUEUE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue {

using Strings = std::vector<std::string>;
using Fair = FairOrdering<std::string>;
using FairOptions = FairOrderingOptions<std::string>;
using StringQueue = PriorityQueue<std::string>;

// Returns options with the first `n` of the dimensions cluster and namespace.
inline FairOptions FairDimensions(int n) {
  FairOptions options;
  for (int d = 0; d < n; ++d) {
    FairDimension<std::string> dimension;
    dimension.group_of = [d](const std::string& key) {
      const Strings parts = absl::StrSplit(key, '/');
      return parts[d];
    };
    options.dimensions.push_back(std::move(dimension));
  }
  return options;
}

inline std::unique_ptr<StringQueue> MakeFairQueue(FairOptions fair) {
  PriorityQueueOptions<std::string> options;
  options.ordering = *Fair::Create(std::move(fair));
  return std::make_unique<StringQueue>(std::move(options));
}

inline void AddAt(StringQueue& queue, int priority, const Strings& keys) {
  AddOptions options;
  options.priority = priority;
  queue.AddWithOptions(options, keys);
}

inline void AddRetries(StringQueue& queue, const Strings& keys) {
  AddOptions options;
  options.retry = true;
  queue.AddWithOptions(options, keys);
}

// Gets the items that are ready, and does not end their processing.
inline Strings GetReady(StringQueue& queue) {
  Strings got;
  while (true) {
    absl::StatusOr<std::string> item = queue.TryGet();
    if (!item.ok()) return got;
    got.push_back(*std::move(item));
  }
}

// Gets all items, and calls `Done()` for each before it gets the next.
inline Strings Drain(StringQueue& queue) {
  Strings got;
  while (true) {
    absl::StatusOr<std::string> item = queue.TryGet();
    if (!item.ok()) return got;
    queue.Done(*item);
    got.push_back(*std::move(item));
  }
}

// Returns the first `max` queued items.
inline Strings Queued(StringQueue& queue, size_t max) {
  Strings queued;
  const auto snapshot = queue.TakeSnapshotUpTo(max);
  for (const auto& it : snapshot->queued) {
    queued.push_back(it.item);
  }
  return queued;
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_FAIR_QUEUE_H_
