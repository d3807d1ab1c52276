// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/internal/failure_counts.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
#define WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_

#include <cstddef>
#include <limits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ratelimit/unbounded_items.h"
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/node_hash_set.h"

namespace workqueue {
namespace internal {

// Returns `failures` + 1, or `failures` if it is the largest `int`.
constexpr int OneMoreFailure(int failures) {
  return failures == std::numeric_limits<int>::max() ? failures : failures + 1;
}

// FailureCounts
//
// This class counts how often each item has failed since the item was last
// forgotten. It keeps one entry for each item that has failed and has not been
// forgotten. If there is a bound, a new item that would exceed the bound
// replaces the item whose last failure is longest ago.
//
// Requires that `T` can be copied, and that `Hash` and `Eq` are those of an
// `absl::flat_hash_set<T>` and can be default-constructed.
//
// Each operation takes constant time on average. It hashes the item once,
// before it locks the mutex, and looks the item up once. Growing the table
// hashes nothing. In the steady state nothing is allocated except by copying an
// item.
//
// If hashing, comparing, copying or allocating throws, nothing changes.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class FailureCounts {
 public:
  // Keeps at most `max_items` counts, which must be at least one. While a new
  // item replaces an old one, both exist for a moment.
  explicit FailureCounts(size_t max_items = kUnboundedItems)
      : max_items_(max_items) {}
  FailureCounts(const FailureCounts&) = delete;
  FailureCounts& operator=(const FailureCounts&) = delete;

  // Counts a failure of `item` and returns the number of failures before it.
  // The count stops at the largest `int`.
  int Increment(const T& item) {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    const auto [entry, is_new] = entries_.FindOrInsert(item, hash);
    // Nothing below throws. So no item is evicted for a call that fails.
    const int before =
        std::exchange(entry->failures, OneMoreFailure(entry->failures));
    if (IsBounded()) {
      if (!is_new) by_last_failure_.Remove(entry);
      by_last_failure_.PushBack(entry);
      if (entries_.size() > max_items_) {
        EraseEntry(by_last_failure_.PopFront());
      }
    }
    return before;
  }

  // Returns the number of failures counted for `item`. Does not affect which
  // item is evicted next.
  int Get(const T& item) const {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    const Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? 0 : entry->failures;
  }

  // Returns the number of items that have a count.
  size_t size() const {
    internal::MutexLock lock(&mu_);
    return entries_.size();
  }

  // Sets the count of `item` to zero and removes its entry.
  void Erase(const T& item) {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr) return;
    if (IsBounded()) by_last_failure_.Remove(entry);
    EraseEntry(entry);
  }

 private:
  struct Entry : internal::ItemNode<T>, internal::IntrusiveLink<Entry> {
    using internal::ItemNode<T>::ItemNode;

    int failures = 0;
  };

  // Erases `entry`, which is not in `by_last_failure_`. May move another entry.
  void EraseEntry(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    entries_.Erase(entry);
    if (ABSL_PREDICT_TRUE(!entries_.CompactionDue())) return;
    if (Entry* const from = entries_.NextToMove()) {
      Entry* const moved = entries_.Move(from);
      if (IsBounded()) by_last_failure_.ReplaceByCopy(moved);
    }
  }

  bool IsBounded() const { return max_items_ != kUnboundedItems; }

  const size_t max_items_;
  mutable absl::Mutex mu_;
  internal::NodeHashSet<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // All entries, ordered by their last failure, the oldest first. Empty if
  // there is no bound, because in a large table each access to the list is a
  // cache miss.
  internal::IntrusiveList<Entry> by_last_failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
