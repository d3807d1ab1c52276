// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/timing_wheel.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_TIMING_WHEEL_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_TIMING_WHEEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/time/time.h"
#include "base/intrusive_list.h"

namespace workqueue {
namespace internal {

// What an entry of a `TimingWheel` derives from.
template <typename Entry>
struct TimingWheelEntry : workqueue_internal::IntrusiveLink<Entry> {
  int64_t tick = 0;  // when it is due
  // Where it is: a ring and a slot in it, or none.
  int32_t ring = 0;
  uint32_t slot = 0;
};

// TimingWheel
//
// Entries by the time at which they are due, in rings of slots: the hierarchy
// of wheels that `WaitingSetOptions` describes. The ring 0 has a slot for each
// of the next ticks; in ring r, a slot stands for `slots` to the power of r
// ticks. When its time begins, its entries move to the rings before: each entry
// moves as often as there are rings at most.
//
// A bit for each slot tells whether it is empty, so that those are passed over.
//
// What is due more than 292 years after the wheel was made never is: 64 bits of
// nanoseconds are that long.
//
// The wheel does not own its entries. Not thread-safe.
template <typename Entry>
class TimingWheel {
 public:
  // A wheel whose first tick begins at `now`. `tick` and `slots` are as in
  // `WaitingSetOptions`.
  TimingWheel(absl::Time now, absl::Duration tick, size_t slots)
      : start_(now),
        tick_ns_(absl::ToInt64Nanoseconds(tick)),
        max_tick_(std::numeric_limits<int64_t>::max() / tick_ns_ - 1),
        slots_(static_cast<int64_t>(slots)) {
    AddRing();
  }

  TimingWheel(const TimingWheel&) = delete;
  TimingWheel& operator=(const TimingWheel&) = delete;

  size_t size() const { return size_; }

  // Makes the rings that an entry due at `due_at` needs. Inserting or moving
  // one without that throws nothing, but until it is due it is moved once more
  // for each turn of the last ring.
  void Reserve(absl::Time due_at) {
    if (due_at <= horizon_) return;
    const int64_t tick = TickAt(due_at);
    if (tick == kNever) return;
    while (RingFor(tick - now_) == rings_.size()) AddRing();
  }

  // Puts in `entry`, which is due at `due_at`. Returns when to call `Due()`
  // next on its account. It is `now`.
  absl::Time Insert(Entry* entry, absl::Time due_at, absl::Time now) {
    // An empty wheel does not turn.
    if (size_ == 0) now_ = std::max(now_, LastTick(now));
    ++size_;
    return TimeAt(Put(entry, TickFor(due_at, now)));
  }

  // Has `entry`, which is in the wheel, be due at `due_at`. Returns when to
  // call `Due()` next on its account. It is `now`.
  absl::Time Move(Entry* entry, absl::Time due_at, absl::Time now) {
    Take(entry);
    return TimeAt(Put(entry, TickFor(due_at, now)));
  }

  // Removes `entry`, which is in the wheel.
  void Remove(Entry* entry) {
    --size_;
    Take(entry);
  }

  // Removes all entries, and gives back the memory.
  void Clear() {
    size_ = 0;
    rings_.erase(rings_.begin() + 1, rings_.end());
    rings_[0].Clear();
    SetHorizon();
    due_.Clear();
    never_.Clear();
  }

  // The tick at which `entry`, which is in the wheel, is due.
  absl::Time DueAt(const Entry* entry) const { return TimeAt(entry->tick); }

  // Returns an entry that is due at `now`; null if there is none.
  Entry* Due(absl::Time now) {
    if (due_.empty()) Advance(now);
    return due_.front();
  }

  // Returns when to call `Due()` next: when an entry is due, or has to be moved
  // to another ring. Infinitely late if there is no need.
  absl::Time NextWake() const {
    if (!due_.empty()) return absl::InfinitePast();
    return TimeAt(NextEvent());
  }

 private:
  using List = workqueue_internal::IntrusiveList<Entry>;

  // Ticks are counted from start_. None is as late as this.
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // Instead of a ring, in an entry.
  static constexpr int32_t kDue = -1;
  static constexpr int32_t kNeverDue = -2;

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
      for (List& list : slots) list.Clear();
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
    if (time <= start_) return 0;
    return std::min(kNever - 1,
                    absl::ToInt64Nanoseconds(time - start_) / tick_ns_);
  }

  // Returns the first tick that is not before `time`.
  int64_t TickAt(absl::Time time) const {
    if (time <= start_) return 0;
    // absl::Time counts quarters of a nanosecond.
    const int64_t ns =
        absl::ToInt64Nanoseconds(time - start_ + 3 * absl::Nanoseconds(1) / 4);
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
                            : start_ + absl::Nanoseconds(tick * tick_ns_);
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

  List& ListOf(const Entry* entry) {
    if (entry->ring == kDue) return due_;
    if (entry->ring == kNeverDue) return never_;
    return rings_[entry->ring].slots[entry->slot];
  }

  // Takes `entry` from where it is.
  void Take(Entry* entry) {
    ListOf(entry).Remove(entry);
    if (entry->ring < 0) return;
    Ring& ring = rings_[entry->ring];
    if (ring.slots[entry->slot].empty()) ring.SetEmpty(entry->slot, true);
  }

  // Puts `entry`, which is due at `tick`, where it belongs. Returns the tick at
  // which it is due or has to be moved on.
  int64_t Put(Entry* entry, int64_t tick) {
    entry->tick = tick;
    if (tick <= now_) {
      entry->ring = kDue;
      due_.PushBack(entry);
      return now_;
    }
    if (tick == kNever) {
      entry->ring = kNeverDue;
      never_.PushBack(entry);
      return kNever;
    }
    const size_t index = RingFor(tick - now_);
    const bool too_far = index == rings_.size();
    Ring& ring = too_far ? rings_.back() : rings_[index];
    const int64_t step =
        too_far ? now_ / ring.span + slots_ - 1 : tick / ring.span;
    entry->ring = static_cast<int32_t>(&ring - rings_.data());
    entry->slot = static_cast<uint32_t>(step % slots_);
    ring.slots[entry->slot].PushBack(entry);
    ring.SetEmpty(entry->slot, false);
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
    List& list = ring.slots[slot];
    ring.SetEmpty(slot, true);
    while (!list.empty()) {
      Entry* const entry = list.PopFront();
      Put(entry, entry->tick);
    }
  }

  const absl::Time start_;
  const int64_t tick_ns_;
  const int64_t max_tick_;  // those after that are never
  const int64_t slots_;
  int64_t now_ = 0;  // the tick up to which all has been moved
  size_t size_ = 0;
  std::vector<Ring> rings_;
  absl::Time horizon_;  // so far the rings reach, at least
  List due_;
  List never_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_TIMING_WHEEL_H_
