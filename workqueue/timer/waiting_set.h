// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_WAITING_SET_H_
#define WORKQUEUE_TIMER_WAITING_SET_H_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/base/optimization.h"
#include "absl/time/time.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/timing_wheel.h"
#include "workqueue/timer/waiting_heap.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::internal {

// WaitingSet
//
// A set of entries, each with the time at which it is due: a `WaitingHeap` or a
// `TimingWheel`, whichever the options choose. Both have these functions. With
// a heap, entries come in the order of their times; with a wheel, an entry is
// due at the first tick that is not before its time.
//
// Entries are named by ids that the caller chooses; an id is any `SlabId` below
// 2^31. Ids should be small and dense, as the ids of a `Slab` are: the memory
// of a set is proportional to the largest id, not only to the number of
// entries. An id may be used again once it has been removed. A caller that
// renumbers its entries tells the set by `Renumber()`.
//
// Example:
//
//     WaitingSet waiting(WaitingSetOptions(), clock);
//     waiting.Reserve(id, due_at);  // may throw
//     waiting.Insert(id, due_at, now);
//     ...
//     for (SlabId id; (id = waiting.Due(now)) != kNoSlabId;) {
//       waiting.Remove(id);
//       Handle(id);
//     }
//     SleepUntil(waiting.NextWake());
//
// The current time that a function is told, `now`, is a time of the clock,
// which may go back. An entry that is due after `now` is never due at once,
// even if the set has been told a later time before. An entry that `Due()` has
// found due may be due no longer after an `Insert()` or a `Move()` at an
// earlier time. It is due again when the clock reaches its time.
//
// Inserting, moving and removing one of n entries take O(log n), or constant
// time with a wheel. Each call takes one branch more than a call of the heap or
// the wheel.
//
// Only `Reserve()` and the constructor throw (`std::bad_alloc`). Not
// thread-safe. `now` may have been read before the lock that guards the set was
// taken.
class WaitingSet {
 public:
  // Makes an empty set on `clock`, which is not owned.
  WaitingSet(const WaitingSetOptions& options, Clock* clock);

  // Returns the number of entries.
  size_t size() const { return wheel_ ? wheel_->size() : heap_.size(); }

  // Allocates what `Insert(id, due_at, now)` needs, so that it does not throw.
  void Reserve(SlabId id, absl::Time due_at) {
    wheel_ ? wheel_->Reserve(id, due_at) : heap_.Reserve(id, due_at);
  }

  // Inserts `id`, which must not be in the set, due at `due_at`. `Reserve(id,
  // due_at)` must have been called since the last change of the set. Returns
  // the time at which `Due()` must be called on account of `id`.
  absl::Time Insert(SlabId id, absl::Time due_at, absl::Time now) {
    now = Follow(id, due_at, now);
    return wheel_ ? wheel_->Insert(id, due_at, now)
                  : heap_.Insert(id, due_at, now);
  }

  // Makes `id`, which must be in the set, due at `due_at` instead. Returns the
  // same as `Insert()`.
  absl::Time Move(SlabId id, absl::Time due_at, absl::Time now) {
    now = Follow(id, due_at, now);
    return wheel_ ? wheel_->Move(id, due_at, now) : heap_.Move(id, due_at, now);
  }

  // Removes `id`, which must be in the set. Once the set is empty, it frees the
  // memory of a large number of entries.
  void Remove(SlabId id) { wheel_ ? wheel_->Remove(id) : heap_.Remove(id); }

  // Gives the entry `id`, which must be in the set, the id `new_id`, which must
  // be smaller and not in the set. Takes constant time.
  void Renumber(SlabId id, SlabId new_id) {
    wheel_ ? wheel_->Renumber(id, new_id) : heap_.Renumber(id, new_id);
  }

  // Frees memory if there is much more than the present entries need, of which
  // all ids are below `id_limit`. Takes constant time, and frees no more than a
  // few MB.
  void Shrink(size_t id_limit) {
    wheel_ ? wheel_->Shrink(id_limit) : heap_.Shrink(id_limit);
  }

  // Removes all entries and frees their memory.
  void Clear() { wheel_ ? wheel_->Clear() : heap_.Clear(); }

  // Returns the time at which `id`, which must be in the set, is due; with a
  // wheel, that of its tick.
  absl::Time DueAt(SlabId id) const {
    return wheel_ ? wheel_->DueAt(id) : heap_.DueAt(id);
  }

  // Calls `visit(SlabId)` for the entries in the order in which they are due,
  // until `visit` returns false or there are no more, and returns true. k calls
  // take O(k log k), plus the time to skip holes: see
  // `SortedRing::NextIndex()`. Allocates memory for O(k) indices. A wheel has
  // no order: it returns false and visits nothing.
  template <typename F>
  bool VisitInOrder(F visit) const {
    if (wheel_) return false;
    heap_.VisitInOrder(visit);
    return true;
  }

  // Returns the first entry that is due at `now`, or `kNoSlabId` if there is
  // none.
  SlabId Due(absl::Time now) {
    latest_ = (std::max)(latest_, now);
    return wheel_ ? wheel_->Due(now) : heap_.Due(now);
  }

  // Returns an entry that is due at a time that an earlier call was told, or
  // `kNoSlabId`. Does not need to know the time.
  SlabId KnownDue() const {
    return wheel_ ? wheel_->KnownDue() : heap_.KnownDue();
  }

  // Returns the time at which `Due()` must be called next, and the infinite
  // future if no call is necessary.
  absl::Time NextWake() const {
    return wheel_ ? wheel_->NextWake() : heap_.NextWake();
  }

 private:
  // Called before `id` is to become due at `due_at`. Restarts the heap or the
  // wheel if the clock has gone back and `id` would be due at once for that
  // reason, or if the clock has come so far that `id` might never be due. Does
  // not throw. Returns the current time.
  absl::Time Follow(SlabId id, absl::Time due_at, absl::Time now) {
    if (ABSL_PREDICT_FALSE(now < latest_ || now > end_)) {
      return FollowJump(id, due_at, now);
    }
    latest_ = now;
    return now;
  }
  absl::Time FollowJump(SlabId id, absl::Time due_at, absl::Time now);

  Clock* const clock_;
  absl::Time latest_;  // the latest time told since the last restart
  absl::Time end_;     // from here on a restart is necessary
  WaitingHeap heap_;
  std::unique_ptr<TimingWheel> wheel_;  // null for a heap
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_WAITING_SET_H_
