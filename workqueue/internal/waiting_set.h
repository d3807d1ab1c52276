// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/waiting_set.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "workqueue/internal/timing_wheel.h"
#include "workqueue/internal/waiting_heap.h"
#include "workqueue/waiting_set_options.h"

namespace workqueue {
namespace internal {

// What an entry of a `WaitingSet` derives from.
template <typename Entry>
struct WaitingSetEntry : WaitingHeapEntry<Entry>, TimingWheelEntry<Entry> {};

// WaitingSet
//
// Entries by the time at which they are due: a `WaitingHeap` or a
// `TimingWheel`, as the options say. The methods are theirs.
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

  void Reserve(absl::Time due_at) {
    wheel_ ? wheel_->Reserve(due_at) : heap_.Reserve(due_at);
  }

  absl::Time Insert(Entry* entry, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Insert(entry, due_at, now)
                  : heap_.Insert(entry, due_at, now);
  }

  absl::Time Move(Entry* entry, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Move(entry, due_at, now)
                  : heap_.Move(entry, due_at, now);
  }

  void Remove(Entry* entry) {
    wheel_ ? wheel_->Remove(entry) : heap_.Remove(entry);
  }

  absl::Time DueAt(const Entry* entry) const {
    return wheel_ ? wheel_->DueAt(entry) : heap_.DueAt(entry);
  }

  Entry* Due(absl::Time now) {
    return wheel_ ? wheel_->Due(now) : heap_.Due(now);
  }

  absl::Time NextWake() const {
    return wheel_ ? wheel_->NextWake() : heap_.NextWake();
  }

 private:
  WaitingHeap<Entry> heap_;
  std::unique_ptr<TimingWheel<Entry>> wheel_;  // null for a heap
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_SET_H_
