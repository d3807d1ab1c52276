// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/waiting_set.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "base/indexed_heap.h"
#include "workqueue/internal/timing_wheel.h"
#include "workqueue/waiting_set_options.h"

namespace workqueue {
namespace internal {

// What an entry of a `WaitingSet` derives from.
template <typename Entry>
struct WaitingSetEntry : TimingWheelEntry<Entry> {
  size_t heap_index = 0;
};

// WaitingSet
//
// Entries by the time at which they are due: a heap or a timing wheel, as the
// options say. Entries due at the same time come in the order in which they
// were inserted from a heap, and in any order from a wheel.
//
// The set does not own its entries. Not thread-safe.
template <typename Entry>
class WaitingSet {
 public:
  WaitingSet(const WaitingSetOptions& options, absl::Time now) {
    if (!options.is_timing_wheel()) return;
    wheel_ = std::make_unique<TimingWheel<Entry>>(now, options.tick(),
                                                  options.slots());
  }

  size_t size() const { return wheel_ ? wheel_->size() : heap_.size(); }

  // Makes sure that inserting one for `ready_at` does not throw.
  void Reserve(absl::Time ready_at) {
    wheel_ ? wheel_->Reserve(ready_at) : heap_.ReserveOne();
  }

  // Puts in `entry`, which is due at `ready_at`. Returns when to call `Due()`
  // next on its account. It is `now`.
  absl::Time Insert(Entry* entry, absl::Time ready_at, absl::Time now) {
    if (wheel_) return wheel_->Insert(entry, ready_at, now);
    heap_.Push({ready_at, next_sequence_++}, entry);
    return ready_at;
  }

  // Removes `entry`, which is in the set.
  void Remove(Entry* entry) {
    wheel_ ? wheel_->Remove(entry) : heap_.Remove(entry);
  }

  // Returns the entry that comes first of those due at `now`; null if none is.
  Entry* Due(absl::Time now) {
    if (wheel_) return wheel_->Due(now);
    return heap_.empty() || heap_.front_key().ready_at > now ? nullptr
                                                             : heap_.front();
  }

  // Whether `entry`, which is in the set, is due at `now`, the time of the last
  // `Due()`.
  bool IsDue(const Entry* entry, absl::Time now) const {
    return wheel_ ? wheel_->IsDue(entry) : heap_.key(entry).ready_at <= now;
  }

  // Returns when to call `Due()` next; infinitely late if there is no need.
  absl::Time NextWake() const {
    if (wheel_) return wheel_->NextWake();
    return heap_.empty() ? absl::InfiniteFuture() : heap_.front_key().ready_at;
  }

  // Gives back the memory of an empty set.
  void ShrinkToFit() { heap_.Clear(); }

 private:
  struct Key {
    absl::Time ready_at;
    uint64_t sequence;

    bool operator<(const Key& other) const {
      return ready_at != other.ready_at ? ready_at < other.ready_at
                                        : sequence < other.sequence;
    }
  };

  std::unique_ptr<TimingWheel<Entry>> wheel_;  // null for a heap
  workqueue_internal::IndexedHeap<Key, Entry> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_
