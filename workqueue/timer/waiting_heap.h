// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/waiting_heap.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_WAITING_HEAP_H_
#define WORKQUEUE_TIMER_WAITING_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/indexed_heap.h"
#include "workqueue/internal/segmented_array.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/internal/sorted_ring.h"
#include "workqueue/timer/internal/time_scale.h"

namespace workqueue {
namespace internal {

// WaitingHeap
//
// Entries by the time at which they are due. They are named by their ids in a
// `Slab`. Those due at the same time come in the order in which they were given
// that time. Inserting, moving and removing take O(log n), the others O(1).
//
// What is inserted in the order of its times, as with constant delays, is kept
// in a `SortedRing`, and inserting and removing it take O(1). If something
// comes before no more than the last few there, these make way. All else is in
// an `IndexedHeap`.
//
// It does as `TimingWheel` does, to the nanosecond, and like that until 292
// years after it was made.
//
// Not thread-safe.
class WaitingHeap {
 public:
  // Entries are numbered from `first_sequence` on, for those of one time to
  // come in order. The numbers go round, in a test soon.
  explicit WaitingHeap(absl::Time now, uint32_t first_sequence = 0)
      : scale_(now), next_sequence_(first_sequence) {}

  WaitingHeap(const WaitingHeap&) = delete;
  WaitingHeap& operator=(const WaitingHeap&) = delete;

  size_t size() const { return run_.size() + heap_.size(); }

  // Makes sure that inserting `id` for `due_at` does not throw.
  void Reserve(internal::SlabId id, absl::Time /*due_at*/) {
    if (id >= kInRun) internal::ThrowBadAlloc();
    places_.Reserve(size_t{id} + 1);
    // All that is in the run may have to move.
    heap_.Reserve(size() + 1);
    run_.ReserveOne();
  }

  // Puts in `id`, which is due at `due_at`. Returns when to call `Due()` next
  // on its account. It is `now`.
  absl::Time Insert(internal::SlabId id, absl::Time due_at, absl::Time now) {
    Put(NewSlot(id, due_at, now));
    return due_at;
  }

  // Has `id`, which is in the heap, be due at `due_at`. Returns when to call
  // `Due()` next on its account. It is `now`. Throws nothing.
  absl::Time Move(internal::SlabId id, absl::Time due_at, absl::Time now) {
    const Slot slot = NewSlot(id, due_at, now);
    if (IsInRun(id)) {
      run_.Remove(places_[id] - kInRun);
      Put(slot);
    } else if (FitsRun(slot)) {
      heap_.Remove(places_[id]);
      run_.Append(slot);
    } else {
      heap_.Replace(places_[id], slot);
    }
    return due_at;
  }

  // Removes `id`, which is in the heap. After a spike, the memory goes back
  // once the heap is empty.
  void Remove(internal::SlabId id) {
    const uint32_t place = places_[id];
    if (place >= kInRun) {
      run_.Remove(place - kInRun);
    } else {
      heap_.Remove(place);
    }
    if (size() == 0 && places_.capacity() > kKeep) Clear();
  }

  // Removes all entries, and gives back the memory.
  void Clear() {
    run_.Clear();
    heap_.Clear();
    places_.Clear();
  }

  // When `id`, which is in the heap, is due.
  absl::Time DueAt(internal::SlabId id) const {
    return scale_.TimeAt(IsInRun(id) ? run_[places_[id] - kInRun].due
                                     : heap_[places_[id]].due);
  }

  // Returns the entry that comes first of those due at `now`; `kNoSlabId` if
  // none is.
  internal::SlabId Due(absl::Time now) {
    const int64_t now_ns = scale_.Floor(now);
    latest_now_ = std::max(latest_now_, now_ns);
    return DueBy(now_ns);
  }

  // As `Due()`, of what some call has been told is due.
  internal::SlabId KnownDue() const { return DueBy(latest_now_); }

  // Returns when to call `Due()` next; infinitely late if there is no need.
  absl::Time NextWake() const {
    const Slot* const first = First();
    return first == nullptr ? absl::InfiniteFuture()
                            : scale_.TimeAt(first->due);
  }

 private:
  struct Slot {
    bool operator<(const Slot& other) const {
      // The sequence goes round.
      return due != other.due
                 ? due < other.due
                 : static_cast<int32_t>(sequence - other.sequence) < 0;
    }

    int64_t due;  // on scale_
    uint32_t sequence;
    internal::SlabId id;
  };

  // Added to the index of what is in run_. All indices are less.
  static constexpr uint32_t kInRun = uint32_t{1} << 31;
  static constexpr size_t kKeep = 1024;

  // Note in places_ where a slot is.
  struct SetRunIndex {
    void operator()(const Slot& slot, uint32_t index) const {
      (*places)[slot.id] = kInRun + index;
    }
    internal::SegmentedArray<uint32_t>* places;
  };
  struct SetHeapIndex {
    void operator()(const Slot& slot, uint32_t index) const {
      (*places)[slot.id] = index;
    }
    internal::SegmentedArray<uint32_t>* places;
  };

  Slot NewSlot(internal::SlabId id, absl::Time due_at, absl::Time now) {
    if (due_at > now) return {scale_.Ceil(due_at), next_sequence_++, id};
    const int64_t due = scale_.Floor(due_at);
    latest_now_ = std::max(latest_now_, due);
    return {due, next_sequence_++, id};
  }

  bool IsInRun(internal::SlabId id) const { return places_[id] >= kInRun; }

  // Returns whether `slot` can be appended to the run. If so, what it comes
  // before has moved from there to the heap.
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

  // As `Due()`, without a note of what time it is.
  internal::SlabId DueBy(int64_t now) const {
    const Slot* const first = First();
    return first != nullptr && first->due <= now ? first->id
                                                 : internal::kNoSlabId;
  }

  // Returns the slot that comes first; null if there is none.
  const Slot* First() const {
    if (run_.empty()) return heap_.empty() ? nullptr : &heap_.front();
    if (heap_.empty() || run_.front() < heap_.front()) return &run_.front();
    return &heap_.front();
  }

  const TimeScale scale_;
  int64_t latest_now_ = std::numeric_limits<int64_t>::min();  // on scale_
  uint32_t next_sequence_;
  // By id: an index in heap_, or kInRun and one in run_.
  internal::SegmentedArray<uint32_t> places_;
  internal::SortedRing<Slot, SetRunIndex, kInRun> run_{SetRunIndex{&places_}};
  internal::IndexedHeap<Slot, SetHeapIndex> heap_{SetHeapIndex{&places_}};
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_HEAP_H_
