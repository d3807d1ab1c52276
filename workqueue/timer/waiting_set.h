// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/waiting_set.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_WAITING_SET_H_
#define WORKQUEUE_TIMER_WAITING_SET_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/timing_wheel.h"
#include "workqueue/timer/waiting_heap.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace internal {

// WaitingSet
//
// Entries by the time at which they are due, named by their ids in a `Slab`: a
// `WaitingHeap` or a `TimingWheel`, as the options say. The methods are theirs.
//
// Not thread-safe.
class WaitingSet {
 public:
  WaitingSet(const WaitingSetOptions& options, absl::Time now) : heap_(now) {
    if (!options.is_timing_wheel()) return;
    wheel_ =
        std::make_unique<TimingWheel>(now, options.tick(), options.slots());
  }

  size_t size() const { return wheel_ ? wheel_->size() : heap_.size(); }

  void Reserve(internal::SlabId id, absl::Time due_at) {
    wheel_ ? wheel_->Reserve(id, due_at) : heap_.Reserve(id, due_at);
  }

  absl::Time Insert(internal::SlabId id, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Insert(id, due_at, now)
                  : heap_.Insert(id, due_at, now);
  }

  absl::Time Move(internal::SlabId id, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Move(id, due_at, now) : heap_.Move(id, due_at, now);
  }

  void Remove(internal::SlabId id) {
    wheel_ ? wheel_->Remove(id) : heap_.Remove(id);
  }

  void Clear() { wheel_ ? wheel_->Clear() : heap_.Clear(); }

  absl::Time DueAt(internal::SlabId id) const {
    return wheel_ ? wheel_->DueAt(id) : heap_.DueAt(id);
  }

  internal::SlabId Due(absl::Time now) {
    return wheel_ ? wheel_->Due(now) : heap_.Due(now);
  }

  internal::SlabId KnownDue() const {
    return wheel_ ? wheel_->KnownDue() : heap_.KnownDue();
  }

  absl::Time NextWake() const {
    return wheel_ ? wheel_->NextWake() : heap_.NextWake();
  }

 private:
  WaitingHeap heap_;
  std::unique_ptr<TimingWheel> wheel_;  // null for a heap
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_SET_H_
