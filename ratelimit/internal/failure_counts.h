// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
#define WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/lru_map.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Returns the smaller of `base` * 2^`failures` and `max`. `failures` must not
// be negative. `base` must be zero or at least one nanosecond.
//
// The result is exact if `max` is less than 2^63 nanoseconds (292 years), where
// client-go's durations end. For a longer `max`, the result is `max` if there
// are 63 failures or more. (client-go's own check lets exactly 2^63 ns pass,
// which becomes a negative delay on some machines.)
inline absl::Duration ExponentialDelay(absl::Duration base, absl::Duration max,
                                       int failures) {
  if (base == absl::ZeroDuration()) return base;
  if (failures >= 63) return max;
  // This saturates: a product that is too large becomes an infinite duration.
  return (std::min)(base * (int64_t{1} << failures), max);
}

// Returns OK if `max_tracked_items` is at least one. Otherwise returns an
// `absl::InvalidArgumentError` that names the parameter and its value.
inline absl::Status CheckMaxTrackedItems(size_t max_tracked_items) {
  if (max_tracked_items > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "max_tracked_items is ", max_tracked_items, "; it must be at least 1"));
}

// FailureCounts
//
// This class counts how often each item has failed since the item was last
// forgotten. It keeps one count for each item that has failed and has not been
// forgotten. If there is a bound, a new item that would exceed the bound
// replaces the item whose last failure is longest ago.
//
// `LruMap` says what `T`, `Hash` and `Eq` must be, how long an operation takes,
// and when memory is allocated and freed. Each operation hashes the item once,
// before it locks the mutex.
//
// If hashing, comparing, copying or allocating throws, nothing changes.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class FailureCounts {
 public:
  // Keeps at most `max_items` counts, which must be at least one.
  explicit FailureCounts(size_t max_items = kUnboundedItems)
      : counts_(max_items) {}
  FailureCounts(const FailureCounts&) = delete;
  FailureCounts& operator=(const FailureCounts&) = delete;

  // Counts a failure of `item` and returns the number of failures before it.
  // The count stops at the largest `int`.
  int Increment(const T& item) {
    const size_t hash = Hash()(item);
    int before = 0;
    MutexLock lock(&mu_);
    counts_.Update(item, hash, [&before](int& failures) {
      before = std::exchange(failures, OneMoreFailure(failures));
    });
    return before;
  }

  // Returns the number of failures counted for `item`. Does not affect which
  // item is evicted next.
  int Get(const T& item) const {
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    const int* const failures = counts_.Find(item, hash);
    return failures == nullptr ? 0 : *failures;
  }

  // Returns the number of items that have a count.
  size_t size() const {
    MutexLock lock(&mu_);
    return counts_.size();
  }

  // Sets the count of `item` to zero and removes its entry.
  void Erase(const T& item) {
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    counts_.Erase(item, hash);
  }

 private:
  mutable sync::Mutex mu_;
  LruMap<T, int, Hash, Eq> counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
