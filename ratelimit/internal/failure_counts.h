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
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
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
// nothing.
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
    const Key key(item);
    workqueue_internal::MutexLock lock(&mu_);
    const auto [entry, is_new] = entries_.emplace(key);
    if (is_new) {
      // The entry has no item yet. Nothing looks at it before it has.
      absl::Cleanup undo = [all = &entries_, it = entry] { all->erase(it); };
      Store(item, &entry->item);
      std::move(undo).Cancel();
    }
    return std::exchange(entry->failures, OneMoreFailure(entry->failures));
  }

  // Returns how many failures of `item` have been counted.
  int Get(const T& item) const {
    const Key key(item);
    workqueue_internal::MutexLock lock(&mu_);
    const auto entry = entries_.find(key);
    return entry == entries_.end() ? 0 : entry->failures;
  }

  // Forgets the failures of `item`.
  void Erase(const T& item) {
    const Key key(item);
    workqueue_internal::MutexLock lock(&mu_);
    const auto entry = entries_.find(key);
    if (entry != entries_.end()) entries_.erase(entry);
  }

 private:
  // Where the item is kept: in the table itself, unless moving it could throw
  // while the table grows.
  using Stored =
      std::conditional_t<std::is_nothrow_move_constructible<T>::value,
                         std::optional<T>, std::unique_ptr<const T>>;

  struct Key {
    explicit Key(const T& i) : item(&i), hash(Hash()(i)) {}

    const T* item;
    size_t hash;
  };

  struct Entry {
    explicit Entry(const Key& key) : hash(key.hash) {}

    size_t hash;
    mutable Stored item;  // set once, when the entry is in the table
    mutable int failures = 0;
  };

  struct EntryHash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return key.hash; }
    size_t operator()(const Entry& entry) const { return entry.hash; }
  };

  struct EntryEq {
    using is_transparent = void;
    bool operator()(const Entry& a, const Key& b) const {
      return a.hash == b.hash && Eq()(*a.item, *b.item);
    }
    bool operator()(const Entry& a, const Entry& b) const { return &a == &b; }
  };

  using Entries = absl::flat_hash_set<Entry, EntryHash, EntryEq>;

  static void Store(const T& item, std::optional<T>* stored) {
    stored->emplace(item);
  }
  static void Store(const T& item, std::unique_ptr<const T>* stored) {
    *stored = std::make_unique<const T>(item);
  }

  mutable absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal
}  // namespace ratelimit

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_FAILURE_COUNTS_H_
