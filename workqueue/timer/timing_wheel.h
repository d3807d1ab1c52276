// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/timing_wheel.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_TIMING_WHEEL_H_
#define WORKQUEUE_TIMER_TIMING_WHEEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/time/time.h"
#include "workqueue/internal/segmented_array.h"
#include "workqueue/internal/slab.h"
#include "workqueue/timer/internal/time_scale.h"

namespace workqueue {
namespace internal {

// TimingWheel
//
// Entries by the time at which they are due, named by their ids in a `Slab`.
// They are in rings of slots: the hierarchy of wheels that `WaitingSetOptions`
// describes. The ring 0 has a slot for each of the next ticks; in ring r, a
// slot stands for `slots` to the power of r ticks. When its time begins, its
// entries move to the rings before: each entry moves as often as there are
// rings at most.
//
// A bit for each slot tells whether it is empty, so that those are passed over.
//
// What is due more than 292 years after the wheel was made never is: 64 bits of
// nanoseconds are that long.
//
// Not thread-safe.
class TimingWheel {
 public:
  // A wheel whose first tick begins at `now`. `tick` and `slots` are as in
  // `WaitingSetOptions`.
  TimingWheel(absl::Time now, absl::Duration tick, size_t slots)
      : scale_(now),
        tick_ns_(absl::ToInt64Nanoseconds(tick)),
        max_tick_(kNever / tick_ns_ - 1),
        slots_(static_cast<int64_t>(slots)) {
    AddRing();
  }

  TimingWheel(const TimingWheel&) = delete;
  TimingWheel& operator=(const TimingWheel&) = delete;

  size_t size() const { return size_; }

  // Makes sure that inserting `id` for `due_at` does not throw, and makes the
  // rings that it needs there. Moving an entry to where there is no ring throws
  // nothing, but until it is due it is moved once more for each turn of the
  // last one.
  void Reserve(internal::SlabId id, absl::Time due_at) {
    if (due_at > horizon_) AddRingsFor(due_at);
    places_.Reserve(size_t{id} + 1);
  }

  // Puts in `id`, which is due at `due_at`. Returns when to call `Due()` next
  // on its account. It is `now`.
  absl::Time Insert(internal::SlabId id, absl::Time due_at, absl::Time now) {
    // An empty wheel does not turn.
    if (size_ == 0) now_ = std::max(now_, LastTick(now));
    ++size_;
    return TimeAt(Put(id, TickFor(due_at, now)));
  }

  // Has `id`, which is in the wheel, be due at `due_at`. Returns when to call
  // `Due()` next on its account. It is `now`. Throws nothing.
  absl::Time Move(internal::SlabId id, absl::Time due_at, absl::Time now) {
    Take(id);
    return TimeAt(Put(id, TickFor(due_at, now)));
  }

  // Removes `id`, which is in the wheel. After a spike, the memory goes back
  // once the wheel is empty.
  void Remove(internal::SlabId id) {
    --size_;
    Take(id);
    if (size_ == 0 && places_.capacity() > kKeep) places_.Clear();
  }

  // Removes all entries, and gives back the memory.
  void Clear() {
    size_ = 0;
    rings_.erase(rings_.begin() + 1, rings_.end());
    rings_[0].Clear();
    SetHorizon();
    due_ = List();
    never_ = List();
    places_.Clear();
  }

  // The tick at which `id`, which is in the wheel, is due.
  absl::Time DueAt(internal::SlabId id) const {
    return TimeAt(places_[id].tick);
  }

  // Returns an entry that is due at `now`, one whose tick came first if some
  // have been due for longer; `kNoSlabId` if there is none.
  internal::SlabId Due(absl::Time now) {
    if (due_.empty()) Advance(now);
    return KnownDue();
  }

  // As `Due()`, of what some call has been told is due.
  internal::SlabId KnownDue() const { return due_.front; }

  // Returns when to call `Due()` next: when an entry is due, or has to be moved
  // to another ring. Infinitely late if there is no need.
  absl::Time NextWake() const {
    if (!due_.empty()) return absl::InfinitePast();
    return TimeAt(NextEvent());
  }

 private:
  // Ticks are counted from the start of scale_. None is as late as this.
  static constexpr int64_t kNever = TimeScale::kNever;

  static constexpr size_t kKeep = 1024;

  // Where an entry is.
  struct Place {
    int64_t tick;           // when it is due
    uint32_t list;          // a slot, kDue or kNeverDue
    internal::SlabId next;  // in that list
    internal::SlabId previous;
  };

  // A doubly linked list of ids. Their places have the links.
  struct List {
    bool empty() const { return front == internal::kNoSlabId; }

    internal::SlabId front = internal::kNoSlabId;
    internal::SlabId back = internal::kNoSlabId;
  };

  // Instead of a slot: the slots of all rings are counted as one sequence.
  static constexpr uint32_t kDue = 0xffffffff;
  static constexpr uint32_t kNeverDue = 0xfffffffe;

  struct Ring {
    // A ring of `n` slots, each of which stands for `s` ticks.
    Ring(int64_t s, int64_t n)
        : span(s),
          turn(s <= kNever / n ? s * n : kNever),
          slots(n),
          full((n + 63) / 64) {}

    void SetEmpty(size_t slot, bool empty) {
      const uint64_t bit = uint64_t{1} << (slot % 64);
      uint64_t& word = full[slot / 64];
      word = empty ? word & ~bit : word | bit;
    }

    void Clear() {
      std::fill(slots.begin(), slots.end(), List());
      std::fill(full.begin(), full.end(), 0);
    }

    // Returns the first slot from `begin` up to `end` that is not empty; `end`
    // if all are.
    size_t FirstFull(size_t begin, size_t end) const {
      while (begin < end) {
        const uint64_t rest = full[begin / 64] >> (begin % 64);
        if (rest != 0) {
          return std::min(end, begin + absl::countr_zero(rest));
        }
        begin = (begin / 64 + 1) * 64;
      }
      return end;
    }

    int64_t span;  // how many ticks a slot stands for
    int64_t turn;  // and all slots
    std::vector<List> slots;
    std::vector<uint64_t> full;  // a bit for each slot
  };

  // Returns the last tick that is not after `time`.
  int64_t LastTick(absl::Time time) const {
    return std::min(kNever - 1,
                    std::max<int64_t>(0, scale_.Floor(time)) / tick_ns_);
  }

  // Returns the first tick that is not before `time`.
  int64_t TickAt(absl::Time time) const {
    const int64_t ns = std::max<int64_t>(0, scale_.Ceil(time));
    const int64_t tick = ns / tick_ns_ + (ns % tick_ns_ != 0);
    return tick > max_tick_ ? kNever : tick;
  }

  // Returns the tick at which what is due at `time` comes out. What is due
  // `now` need not wait for the next one.
  int64_t TickFor(absl::Time time, absl::Time now) const {
    return time <= now ? LastTick(time) : TickAt(time);
  }

  absl::Time TimeAt(int64_t tick) const {
    return tick > max_tick_ ? absl::InfiniteFuture()
                            : scale_.TimeAt(tick * tick_ns_);
  }

  // Returns the ring for an entry due in `ticks` from now; one more than there
  // are if there is none.
  size_t RingFor(int64_t ticks) const {
    size_t ring = 0;
    while (ring < rings_.size() && ticks >= rings_[ring].turn) ++ring;
    return ring;
  }

  void AddRing() {
    rings_.emplace_back(rings_.empty() ? 1 : rings_.back().turn, slots_);
    SetHorizon();
  }

  void SetHorizon() {
    const int64_t turn = rings_.back().turn;
    horizon_ = TimeAt(turn < kNever - now_ ? now_ + turn - 1 : kNever);
  }

  void AddRingsFor(absl::Time due_at) {
    const int64_t tick = TickAt(due_at);
    if (tick == kNever) return;
    while (RingFor(tick - now_) == rings_.size()) AddRing();
  }

  // Appends `id` to `list`.
  void PushBack(List& list, internal::SlabId id) {
    Place& at = places_[id];
    at.next = internal::kNoSlabId;
    at.previous = list.back;
    (list.empty() ? list.front : places_[list.back].next) = id;
    list.back = id;
  }

  // Removes the entry at `at` from `list`, which contains it.
  void RemoveFrom(List& list, const Place& at) {
    (at.previous == internal::kNoSlabId ? list.front
                                        : places_[at.previous].next) = at.next;
    (at.next == internal::kNoSlabId ? list.back : places_[at.next].previous) =
        at.previous;
  }

  // Takes `id` from where it is.
  void Take(internal::SlabId id) {
    const Place& at = places_[id];
    if (at.list == kDue || at.list == kNeverDue) {
      RemoveFrom(at.list == kDue ? due_ : never_, at);
      return;
    }
    Ring& ring = rings_[at.list / slots_];
    const size_t slot = at.list % slots_;
    RemoveFrom(ring.slots[slot], at);
    if (ring.slots[slot].empty()) ring.SetEmpty(slot, true);
  }

  // Puts `id`, which is due at `tick`, where it belongs. Returns the tick at
  // which it is due or has to be moved on.
  int64_t Put(internal::SlabId id, int64_t tick) {
    Place& at = places_[id];
    at.tick = tick;
    if (tick <= now_) {
      at.list = kDue;
      PushBack(due_, id);
      return now_;
    }
    if (tick == kNever) {
      at.list = kNeverDue;
      PushBack(never_, id);
      return kNever;
    }
    const size_t index = RingFor(tick - now_);
    const bool too_far = index == rings_.size();
    Ring& ring = too_far ? rings_.back() : rings_[index];
    const int64_t step =
        too_far ? now_ / ring.span + slots_ - 1 : tick / ring.span;
    const size_t slot = static_cast<size_t>(step % slots_);
    at.list = static_cast<uint32_t>((&ring - rings_.data()) * slots_ + slot);
    PushBack(ring.slots[slot], id);
    ring.SetEmpty(slot, false);
    return step * ring.span;
  }

  // Returns the next tick at which a slot's time begins that is not empty.
  int64_t NextEvent() const {
    int64_t next = kNever;
    for (const Ring& ring : rings_) {
      // The slots come in the order after this one, itself last.
      const int64_t step = now_ / ring.span;
      const size_t here = static_cast<size_t>(step % slots_);
      const size_t n = ring.slots.size();
      size_t slot = ring.FirstFull(here + 1, n);
      int64_t ahead = static_cast<int64_t>(slot - here);
      if (slot == n) {
        slot = ring.FirstFull(0, here + 1);
        if (slot == here + 1) continue;
        ahead = static_cast<int64_t>(slot + n - here);
      }
      next = std::min(next, (step + ahead) * ring.span);
    }
    return next;
  }

  // Moves all that is due at `now` to due_.
  void Advance(absl::Time now) {
    const int64_t end = LastTick(now);
    while (now_ < end) {
      now_ = std::min(end, NextEvent());
      for (size_t i = rings_.size(); i-- > 0;) {
        if (now_ % rings_[i].span == 0) Empty(rings_[i]);
      }
    }
  }

  // Moves on what is in the slot of `ring` whose time begins now.
  void Empty(Ring& ring) {
    const size_t slot = static_cast<size_t>(now_ / ring.span % slots_);
    internal::SlabId id = ring.slots[slot].front;
    ring.slots[slot] = List();
    ring.SetEmpty(slot, true);
    while (id != internal::kNoSlabId) {
      const Place at = places_[id];
      Put(id, at.tick);
      id = at.next;
    }
  }

  const TimeScale scale_;
  const int64_t tick_ns_;
  const int64_t max_tick_;  // those after that are never
  const int64_t slots_;
  int64_t now_ = 0;  // the tick up to which all has been moved
  size_t size_ = 0;
  std::vector<Ring> rings_;
  absl::Time horizon_;                      // so far the rings reach, at least
  internal::SegmentedArray<Place> places_;  // by id
  List due_;
  List never_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_TIMING_WHEEL_H_
