// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_TIMING_WHEEL_H_
#define WORKQUEUE_TIMER_TIMING_WHEEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"
#include "workqueue/timer/internal/time_scale.h"

namespace workqueue::internal {

// TimingWheel
//
// A `WaitingSet`, whose comments describe the functions, that is a hierarchical
// timing wheel (G. Varghese and A. Lauck, "Hashed and Hierarchical Timing
// Wheels", 1987): time is divided into ticks, and an entry is due at the first
// tick that is not before its time.
//
// Inserting, moving and removing an entry take constant time. The entries are
// in rings of slots. Ring 0 has a slot for each of the next ticks; a slot of
// ring r stands for `slots` to the power of r ticks. When the time of a slot
// begins, its entries move to rings of lower numbers, so an entry moves at most
// as often as there are rings. A bit for each slot tells whether the slot is
// empty, so the wheel skips empty slots without visiting them.
//
// `Restart()` must be called as that of a `WaitingHeap`.
class TimingWheel {
 public:
  // Makes an empty wheel whose first tick begins at `now`, which must be
  // finite. `tick` and `slots` must be in the ranges that
  // `WaitingSetOptions::TimingWheel()` accepts.
  TimingWheel(absl::Time now, absl::Duration tick, size_t slots);

  TimingWheel(const TimingWheel&) = delete;
  TimingWheel& operator=(const TimingWheel&) = delete;

  size_t size() const { return size_; }

  // Also makes the rings that reach `due_at`. If an entry moves to where there
  // is no ring, `Move()` throws nothing, but the entry then moves once for each
  // turn of the last ring until it is due.
  void Reserve(SlabId id, absl::Time due_at) {
    if (due_at > horizon_) AddRingsFor(due_at);
    places_.Reserve(size_t{id} + 1);
  }

  absl::Time Insert(SlabId id, absl::Time due_at, absl::Time now) {
    // An empty wheel does not turn.
    if (size_ == 0) now_ = (std::max)(now_, LastTick(now));
    ++size_;
    return Put(id, TickFor(due_at, now));
  }

  absl::Time Move(SlabId id, absl::Time due_at, absl::Time now) {
    Take(id);
    return Put(id, TickFor(due_at, now));
  }

  void Remove(SlabId id) {
    --size_;
    Take(id);
    if (size_ == 0 && places_.capacity() > kKeep) places_.Clear();
  }

  void Renumber(SlabId id, SlabId new_id) {
    const Place& at = places_[new_id] = places_[id];
    if (at.list == kNeverDue) return;
    List& list = ListOf(at);
    (at.previous == kNoSlabId ? list.front : places_[at.previous].next) =
        new_id;
    (at.next == kNoSlabId ? list.back : places_[at.next].previous) = new_id;
  }

  void Shrink(size_t id_limit) { places_.Shrink(id_limit); }

  // Tells the wheel that the current time is `now`, which must be finite,
  // whatever time the wheel has been told before. An entry that was due and is
  // not due at `now` waits again. The ticks begin at the same times as before.
  // If there is no memory for the rings that an entry needs, it moves on as
  // after a `Move()` without them. Takes time proportional to the numbers of
  // entries and slots.
  void Restart(absl::Time now);

  // Takes time proportional to the number of slots and the largest id.
  void Clear();

  absl::Time DueAt(SlabId id) const { return TimeAt(places_[id].tick); }

  // If entries have become due at several ticks, those of the first tick come
  // first. Takes time for each slot passed that is not empty.
  SlabId Due(absl::Time now) {
    if (due_.empty()) Advance(now);
    return KnownDue();
  }

  SlabId KnownDue() const { return due_.front; }

  // An entry is due at the result, or must move to another ring. The infinite
  // past if an entry is known to be due.
  absl::Time NextWake() const {
    return due_.empty() ? TimeAt(NextEvent()) : absl::InfinitePast();
  }

 private:
  // Ticks are counted from the start of scale_. No tick is as late as this.
  static constexpr int64_t kNever = TimeScale::kNever;

  // Values of Place::list that are no slot. One sequence of numbers counts the
  // slots of all rings. An entry that is never due is in no list.
  static constexpr uint32_t kDue = 0xffffffff;
  static constexpr uint32_t kNeverDue = 0xfffffffe;

  // How many places an empty wheel keeps.
  static constexpr size_t kKeep = 1024;

  // The place of an entry.
  struct Place {
    int64_t tick;   // when the entry is due
    uint32_t list;  // a slot, kDue or kNeverDue
    SlabId next;    // in that list
    SlabId previous;
  };

  // A doubly linked list of ids. Their places have the links.
  struct List {
    bool empty() const { return front == kNoSlabId; }

    SlabId front = kNoSlabId;
    SlabId back = kNoSlabId;
  };

  struct Ring {
    // A ring of `n` slots, each of which stands for `s` ticks.
    Ring(int64_t s, int64_t n);

    void SetEmpty(size_t slot, bool empty) {
      const uint64_t bit = uint64_t{1} << (slot % 64);
      uint64_t& word = full[slot / 64];
      word = empty ? word & ~bit : word | bit;
    }
    void Clear();

    // Returns the first slot in [`begin`, `end`) that is not empty; `end` if
    // all are empty.
    size_t FirstFull(size_t begin, size_t end) const;

    int64_t span;  // how many ticks a slot stands for
    int64_t turn;  // how many ticks all slots stand for
    std::vector<List> slots;
    std::vector<uint64_t> full;  // a bit for each slot
  };

  // Returns the last tick that is not after `time`.
  int64_t LastTick(absl::Time time) const {
    const int64_t ns = scale_.Floor(time);
    const int64_t tick = ns / tick_ns_ - (ns % tick_ns_ < 0);
    return (std::max)(-max_tick_, tick);
  }

  // Returns the first tick that is not before `time`.
  int64_t TickAt(absl::Time time) const {
    const int64_t ns = scale_.Ceil(time);
    const int64_t tick = ns / tick_ns_ + (ns % tick_ns_ > 0);
    return tick > max_tick_ ? kNever : tick;
  }

  // Returns the tick at which an entry is due whose time is `time`. One that is
  // due `now` does not wait for the next tick.
  int64_t TickFor(absl::Time time, absl::Time now) const {
    return time <= now ? LastTick(time) : TickAt(time);
  }

  absl::Time TimeAt(int64_t tick) const {
    return tick > max_tick_ ? absl::InfiniteFuture()
                            : scale_.TimeAt(tick * tick_ns_);
  }

  // Returns the ring for an entry due in `ticks` from now; the number of rings
  // if none reaches so far.
  size_t RingFor(int64_t ticks) const {
    size_t ring = 0;
    while (ring < rings_.size() && ticks >= rings_[ring].turn) ++ring;
    return ring;
  }

  void AddRing();
  void AddRingsFor(absl::Time due_at);
  void SetHorizon();

  // Returns the list that contains the entry at `at`.
  List& ListOf(const Place& at) {
    if (at.list == kDue) return due_;
    return rings_[at.list / slots_].slots[at.list % slots_];
  }

  // Appends `id` to `list`.
  void PushBack(List& list, SlabId id) {
    Place& at = places_[id];
    at.next = kNoSlabId;
    at.previous = list.back;
    (list.empty() ? list.front : places_[list.back].next) = id;
    list.back = id;
  }

  // Takes `id` out of its list, if it is in one.
  void Take(SlabId id) {
    const Place& at = places_[id];
    if (at.list == kNeverDue) return;
    List& list = ListOf(at);
    (at.previous == kNoSlabId ? list.front : places_[at.previous].next) =
        at.next;
    (at.next == kNoSlabId ? list.back : places_[at.next].previous) =
        at.previous;
    if (list.empty() && at.list != kDue) {
      rings_[at.list / slots_].SetEmpty(at.list % slots_, true);
    }
  }

  // Puts `id`, which is due at `tick`, into the list where it belongs. Returns
  // the time at which it is due or must move to another ring; the infinite past
  // if it is due, because the clock may have gone back behind now_.
  absl::Time Put(SlabId id, int64_t tick) {
    Place& at = places_[id];
    at.tick = tick;
    if (tick <= now_) {
      at.list = kDue;
      PushBack(due_, id);
      return absl::InfinitePast();
    }
    if (tick == kNever) {
      at.list = kNeverDue;
      return absl::InfiniteFuture();
    }
    size_t index = RingFor(tick - now_);
    const bool too_far = index == rings_.size();
    if (too_far) --index;
    Ring& ring = rings_[index];
    const int64_t step =
        too_far ? now_ / ring.span + slots_ - 1 : tick / ring.span;
    const size_t slot = static_cast<size_t>(step % slots_);
    at.list = static_cast<uint32_t>(index * slots_ + slot);
    PushBack(ring.slots[slot], id);
    ring.SetEmpty(slot, false);
    return TimeAt(step * ring.span);
  }

  // Returns the next tick at which the time of a slot begins that is not empty.
  int64_t NextEvent() const;

  // Moves all entries that are due at `now` to due_.
  void Advance(absl::Time now);

  // Moves the entries of the slot of `ring` whose time begins now.
  void Empty(Ring& ring);

  TimeScale scale_;
  const int64_t tick_ns_;
  const int64_t max_tick_;  // later ticks never come
  const uint32_t slots_;    // of each ring
  int64_t now_ = 0;         // the tick up to which entries have been moved
  size_t size_ = 0;
  std::vector<Ring> rings_;
  absl::Time horizon_;            // the rings reach at least so far
  SegmentedArray<Place> places_;  // by id
  List due_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_TIMING_WHEEL_H_
