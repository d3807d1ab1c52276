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
#include "base/entry_table.h"
#include "base/mutex_lock.h"

namespace ratelimit {
namespace internal {

// Returns `failures` and one more, or `failures` if no `int` is larger.
constexpr int OneMoreFailure(int failures) {
  return failures == std::numeric_limits<int>::max() ? failures : failures + 1;
}

// FailureCounts
//
// How often each item has failed since it was last forgotten. Grows with the
// number of items that fail and are not forgotten.
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
  FailureCounts() = default;
  FailureCounts(const FailureCounts&) = delete;
  FailureCounts& operator=(const FailureCounts&) = delete;

  // Counts a failure of `item`. Returns how many there were before. The count
  // stays at the largest `int` when it gets there.
  int Increment(const T& item) {
    const size_t hash = Hash()(item);
    workqueue_internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.FindOrInsert(item, hash).first;
    return std::exchange(entry->failures, OneMoreFailure(entry->failures));
  }

  // Returns how many failures of `item` have been counted.
  int Get(const T& item) const {
    const size_t hash = Hash()(item);
    workqueue_internal::MutexLock lock(&mu_);
    const Entry* const entry = entries_.Find(item, hash);
    return entry == nullptr ? 0 : entry->failures;
  }

  // Forgets the failures of `item`.
  void Erase(const T& item) {
    const size_t hash = Hash()(item);
    workqueue_internal::MutexLock lock(&mu_);
    Entry* const entry = entries_.Find(item, hash);
    if (entry != nullptr) entries_.Erase(entry);
  }

 private:
  class Entry {
   public:
    explicit Entry(const T& item) : item_(item) {}

    const T& item() const { return item_; }

    size_t hash = 0;
    int failures = 0;

   private:
    const T item_;
  };

  mutable absl::Mutex mu_;
  workqueue_internal::EntryTable<T, Entry, Hash, Eq> entries_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace ratelimit

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
