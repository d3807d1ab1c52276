// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_WAITING_HEAP_H_
#define WORKQUEUE_TIMER_WAITING_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/indexed_heap.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"
#include "workqueue/timer/internal/sorted_ring.h"
#include "workqueue/timer/internal/time_scale.h"

namespace workqueue::internal {

// WaitingHeap
//
// A `WaitingSet`, whose comments describe the functions, that is exact to the
// nanosecond. Entries that are due at the same time come in the order in which
// they were given that time.
//
// Inserting, moving and removing one of n entries take O(log n), `Clear()`
// takes O(n), and the other functions take constant time. Entries that are
// inserted in the order of their times, as with a constant delay, are in a
// `SortedRing`, where inserting and removing take amortized constant time. All
// other entries are in an `IndexedHeap`. If a new entry comes before the last
// entries of the ring, and these are at most four, they move to the heap.
//
// If the clock has gone back, call `Restart()` before the next `Insert()` or
// `Move()`. Otherwise an entry that is due before the latest time told is due
// at once. Call `Restart()` also when the clock has come far: an entry that is
// due more than 292 years after the heap was made or restarted is never due.
// This is the range of 64 bits of nanoseconds. A `WaitingSet` does both.
class WaitingHeap {
 public:
  // Makes an empty heap at the current time `now`, which must be finite.
  // Entries are numbered from `first_sequence` on, to keep those of the same
  // time in order. The numbers wrap around; a test can make this happen soon.
  explicit WaitingHeap(absl::Time now, uint32_t first_sequence = 0)
      : scale_(now), next_sequence_(first_sequence) {}

  WaitingHeap(const WaitingHeap&) = delete;
  WaitingHeap& operator=(const WaitingHeap&) = delete;

  size_t size() const { return run_.size() + heap_.size(); }

  void Reserve(SlabId id, absl::Time /*due_at*/) {
    if (id >= kInRun) ThrowBadAlloc();
    places_.Reserve(size_t{id} + 1);
    // All entries of the run may have to move.
    heap_.Reserve(size() + 1);
    run_.ReserveOne();
  }

  absl::Time Insert(SlabId id, absl::Time due_at, absl::Time now) {
    Put(NewSlot(id, due_at, now));
    return due_at;
  }

  absl::Time Move(SlabId id, absl::Time due_at, absl::Time now) {
    const Slot slot = NewSlot(id, due_at, now);
    if (IsInRun(id)) {
      RemoveFromRun(places_[id] - kInRun);
      Put(slot);
    } else if (FitsRun(slot)) {
      heap_.Remove(places_[id]);
      run_.Append(slot);
    } else {
      heap_.Replace(places_[id], slot);
    }
    return due_at;
  }

  void Remove(SlabId id) {
    const uint32_t place = places_[id];
    if (place >= kInRun) {
      RemoveFromRun(place - kInRun);
    } else {
      heap_.Remove(place);
    }
    if (size() == 0 && places_.capacity() > kKeep) Clear();
  }

  void Renumber(SlabId id, SlabId new_id) {
    const uint32_t place = places_[id];
    if (place >= kInRun) {
      Slot slot = run_[place - kInRun];
      slot.id = new_id;
      run_.Replace(place - kInRun, slot);
    } else {
      Slot slot = heap_[place];
      slot.id = new_id;
      heap_.Replace(place, slot);
    }
  }

  void Shrink(size_t id_limit) {
    heap_.Shrink(size() + 1);
    places_.Shrink(id_limit);
  }

  // Tells the heap that the current time is `now`, which must be finite,
  // whatever time the heap has been told before. An entry that was due and is
  // not due at `now` waits again. Entries whose times are more than 292 years
  // before `now` come in any order. Takes O(n).
  void Restart(absl::Time now) {
    const TimeScale scale = scale_.StartedAt(now, absl::Nanoseconds(1));
    const auto convert = [this, &scale](Slot& slot) {
      slot.due = scale.Ceil(scale_.TimeAt(slot.due));
      // Two times that have become equal must not have changed their order.
      if (slot.due == TimeScale::kAlways || slot.due == TimeScale::kNever) {
        slot.sequence = next_sequence_;
      }
    };
    run_.UpdateAll(convert);
    heap_.UpdateAll(convert);
    scale_ = scale;
    latest_now_ = scale_.Floor(now);
  }

  void Clear() {
    run_.Clear();
    heap_.Clear();
    places_.Clear();
  }

  absl::Time DueAt(SlabId id) const {
    return scale_.TimeAt(IsInRun(id) ? run_[places_[id] - kInRun].due
                                     : heap_[places_[id]].due);
  }

  template <typename F>
  void VisitInOrder(F visit) const {
    size_t in_run = run_.size();  // how many are left to visit
    uint32_t index = run_.FirstIndex();
    bool go_on = true;
    // Visits the entries of the run that come before `slot`; all if it is null.
    const auto visit_run = [&](const Slot* slot) {
      while (go_on && in_run > 0 && (slot == nullptr || run_[index] < *slot)) {
        go_on = visit(run_[index].id);
        if (--in_run > 0) index = run_.NextIndex(index);
      }
      return go_on;
    };
    heap_.VisitInOrder([&](const Slot& slot) {
      return go_on = visit_run(&slot) && visit(slot.id);
    });
    visit_run(nullptr);
  }

  SlabId Due(absl::Time now) {
    const int64_t now_ns = scale_.Floor(now);
    latest_now_ = (std::max)(latest_now_, now_ns);
    return DueBy(now_ns);
  }

  SlabId KnownDue() const { return DueBy(latest_now_); }

  absl::Time NextWake() const {
    const Slot* const first = First();
    return first == nullptr ? absl::InfiniteFuture()
                            : scale_.TimeAt(first->due);
  }

 private:
  struct Slot {
    bool operator<(const Slot& other) const {
      // The sequence numbers wrap around.
      return due != other.due
                 ? due < other.due
                 : static_cast<int32_t>(sequence - other.sequence) < 0;
    }

    int64_t due;  // on scale_
    uint32_t sequence;
    SlabId id;
  };

  // Added to the index of an entry in run_. All indices are less.
  static constexpr uint32_t kInRun = uint32_t{1} << 31;
  // How many places an empty heap keeps.
  static constexpr size_t kKeep = 1024;

  // Stores in places_ where a slot is.
  template <uint32_t kAdded>
  struct SetPlace {
    void operator()(const Slot& slot, uint32_t index) const {
      (*places)[slot.id] = kAdded + index;
    }
    SegmentedArray<uint32_t>* places;
  };

  Slot NewSlot(SlabId id, absl::Time due_at, absl::Time now) {
    if (due_at > now) return {scale_.Ceil(due_at), next_sequence_++, id};
    const int64_t due = scale_.Floor(due_at);
    latest_now_ = (std::max)(latest_now_, due);
    return {due, next_sequence_++, id};
  }

  bool IsInRun(SlabId id) const { return places_[id] >= kInRun; }

  // Removes the slot at `index` of the run. If the run has become sparse, moves
  // a few entries from it to the heap.
  void RemoveFromRun(uint32_t index) {
    run_.Remove(index);
    for (int i = 0; i < 4 && run_.IsSparse(); ++i) {
      heap_.Push(run_.front());
      run_.PopFront();
    }
  }

  // Returns whether `slot` can be appended to the run. If so, the entries that
  // it comes before have moved from the run to the heap.
  bool FitsRun(const Slot& slot) {
    constexpr uint32_t kFew = 4;
    if (!run_.HasRoom()) return false;
    if (run_.empty() || !(slot < run_.back())) return true;
    if (!run_.BelongsNearBack(slot, kFew)) return false;
    while (!run_.empty() && slot < run_.back()) {
      heap_.Push(run_.back());
      run_.PopBack();
    }
    return true;
  }

  void Put(const Slot& slot) {
    if (FitsRun(slot)) {
      run_.Append(slot);
    } else {
      heap_.Push(slot);
    }
  }

  // Like `Due()`, without storing the time.
  SlabId DueBy(int64_t now) const {
    const Slot* const first = First();
    return first != nullptr && first->due <= now ? first->id : kNoSlabId;
  }

  // Returns the first slot; null if there is none.
  const Slot* First() const {
    if (run_.empty()) return heap_.empty() ? nullptr : &heap_.front();
    if (heap_.empty() || run_.front() < heap_.front()) return &run_.front();
    return &heap_.front();
  }

  TimeScale scale_;
  int64_t latest_now_ = TimeScale::kAlways;  // on scale_
  uint32_t next_sequence_;
  // By id: an index in heap_, or kInRun and one in run_.
  SegmentedArray<uint32_t> places_;
  SortedRing<Slot, SetPlace<kInRun>, kInRun> run_{SetPlace<kInRun>{&places_}};
  IndexedHeap<Slot, SetPlace<0>> heap_{SetPlace<0>{&places_}};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_WAITING_HEAP_H_
