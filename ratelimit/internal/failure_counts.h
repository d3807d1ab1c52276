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

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ratelimit/unbounded_items.h"
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/node_hash_set.h"

namespace workqueue {
namespace internal {

// Returns `failures` and one more, or `failures` if no `int` is larger.
constexpr int OneMoreFailure(int failures) {
  return failures == std::numeric_limits<int>::max() ? failures : failures + 1;
}

// FailureCounts
//
// How often each item has failed since it was last forgotten. Grows with the
// number of items that fail and are not forgotten, up to a bound if there is
// one: beyond it, the item whose last failure is longest ago is forgotten.
//
// Requires of `T` no more than that it can be copied, and of `Hash` and `Eq`
// that they can be default-constructed. Every operation hashes the item once,
// before it takes the lock, and looks it up once; growing the table hashes
// nothing. Each takes constant time on average and, in the steady state,
// allocates nothing but what copying an item may.
//
// If hashing, comparing, copying or allocating throws, nothing has changed.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class FailureCounts {
 public:
  // Keeps at most `max_items` counts, one or more. While a new item takes an
  // old one's place, there are both.
  explicit FailureCounts(size_t max_items = kUnboundedItems)
      : max_items_(max_items) {}
  FailureCounts(const FailureCounts&) = delete;
  FailureCounts& operator=(const FailureCounts&) = delete;

  // Counts a failure of `item`. Returns how many there were before. The count
  // stays at the largest `int` when it gets there.
  int Increment(const T& item) {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    const auto [entry, is_new] = entries_.FindOrInsert(item, hash);
    // From here on nothing throws, so that nothing is evicted in vain.
    const int before =
        std::exchange(entry->failures, OneMoreFailure(entry->failures));
    if (IsBounded()) {
      if (!is_new) by_last_failure_.Remove(entry);
      by_last_failure_.PushBack(entry);
      if (entries_.size() > max_items_) {
        entries_.Erase(by_last_failure_.PopFront());
      }
    }
    return before;
  }

  // Returns how many failures of `item` have been counted. Makes no difference
  // to what is evicted.
  int Get(const T& item) const {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    const Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? 0 : entry->failures;
  }

  // Forgets the failures of `item`.
  void Erase(const T& item) {
    const size_t hash = Hash()(item);
    internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry == nullptr) return;
    if (IsBounded()) by_last_failure_.Remove(entry);
    entries_.Erase(entry);
  }

 private:
  struct Entry : internal::ItemNode<T>, internal::IntrusiveLink<Entry> {
    using internal::ItemNode<T>::ItemNode;

    int failures = 0;
  };

  bool IsBounded() const { return max_items_ != kUnboundedItems; }

  const size_t max_items_;
  mutable absl::Mutex mu_;
  internal::NodeHashSet<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // All entries, the one whose last failure is longest ago in front. Empty if
  // there is no bound: in a large table each touch of the list is a cache miss.
  internal::IntrusiveList<Entry> by_last_failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
