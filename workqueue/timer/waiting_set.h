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
// A set of entries, each with the time at which it is due: a `WaitingHeap` or a
// `TimingWheel`, whichever the options choose. Both have the same functions,
// and their comments describe ids, complexity and exceptions. With a heap,
// entries come in the order of their times; with a wheel, an entry is due at
// the first tick that is not before its time.
//
// Example:
//
//     WaitingSet waiting(WaitingSetOptions(), now);
//     waiting.Reserve(id, due_at);  // may throw
//     waiting.Insert(id, due_at, now);
//     ...
//     for (SlabId id; (id = waiting.Due(now)) != kNoSlabId;) {
//       waiting.Remove(id);
//       Handle(id);
//     }
//     SleepUntil(waiting.NextWake());
//
// Each call takes one branch more than a call of the heap or the wheel. The ids
// must be less than 2^31.
//
// Not thread-safe.
class WaitingSet {
 public:
  // Makes an empty set. `now` is the current time.
  WaitingSet(const WaitingSetOptions& options, absl::Time now) : heap_(now) {
    if (!options.is_timing_wheel()) return;
    wheel_ =
        std::make_unique<TimingWheel>(now, options.tick(), options.slots());
  }

  size_t size() const { return wheel_ ? wheel_->size() : heap_.size(); }

  void Reserve(SlabId id, absl::Time due_at) {
    wheel_ ? wheel_->Reserve(id, due_at) : heap_.Reserve(id, due_at);
  }

  absl::Time Insert(SlabId id, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Insert(id, due_at, now)
                  : heap_.Insert(id, due_at, now);
  }

  absl::Time Move(SlabId id, absl::Time due_at, absl::Time now) {
    return wheel_ ? wheel_->Move(id, due_at, now) : heap_.Move(id, due_at, now);
  }

  void Remove(SlabId id) { wheel_ ? wheel_->Remove(id) : heap_.Remove(id); }

  void Renumber(SlabId id, SlabId new_id) {
    wheel_ ? wheel_->Renumber(id, new_id) : heap_.Renumber(id, new_id);
  }

  void Shrink(size_t id_limit) {
    wheel_ ? wheel_->Shrink(id_limit) : heap_.Shrink(id_limit);
  }

  void Clear() { wheel_ ? wheel_->Clear() : heap_.Clear(); }

  absl::Time DueAt(SlabId id) const {
    return wheel_ ? wheel_->DueAt(id) : heap_.DueAt(id);
  }

  SlabId Due(absl::Time now) {
    return wheel_ ? wheel_->Due(now) : heap_.Due(now);
  }

  SlabId KnownDue() const {
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
