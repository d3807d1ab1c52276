// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/timing_wheel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/bits.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

TimingWheel::TimingWheel(absl::Time now, absl::Duration tick, size_t slots)
    : scale_(now),
      tick_ns_(absl::ToInt64Nanoseconds(tick)),
      max_tick_(kNever / tick_ns_ - 1),
      slots_(static_cast<uint32_t>(slots)) {
  AddRing();
}

void TimingWheel::Restart(absl::Time now) {
  Advance(now);  // so that what is due is in order
  List all;
  const auto take_all = [this, &all](List& list) {
    SlabId id = list.front;
    while (id != kNoSlabId) {
      const SlabId next = places_[id].next;
      PushBack(all, id);
      id = next;
    }
    list = List();
  };
  take_all(due_);
  for (Ring& ring : rings_) {
    for (List& slot : ring.slots) take_all(slot);
    ring.Clear();
  }

  const TimeScale before = scale_;
  scale_ = before.StartedAt(now, absl::Nanoseconds(tick_ns_));
  now_ = 0;
  int64_t last = 0;
  for (SlabId id = all.front; id != kNoSlabId; id = places_[id].next) {
    int64_t& tick = places_[id].tick;
    tick = TickAt(before.TimeAt(tick * tick_ns_));
    if (tick < kNever) last = std::max(last, tick);
  }
  SetHorizon();
  internal::TryCall([this, last] {
    while (RingFor(last) == rings_.size()) AddRing();
  });
  for (SlabId id = all.front; id != kNoSlabId;) {
    const SlabId next = places_[id].next;
    Put(id, places_[id].tick);
    id = next;
  }
}

void TimingWheel::Clear() {
  size_ = 0;
  rings_.erase(rings_.begin() + 1, rings_.end());
  rings_[0].Clear();
  SetHorizon();
  due_ = List();
  places_.Clear();
}

TimingWheel::Ring::Ring(int64_t s, int64_t n)
    : span(s),
      turn(s <= kNever / n ? s * n : kNever),
      slots(n),
      full((n + 63) / 64) {}

void TimingWheel::Ring::Clear() {
  std::fill(slots.begin(), slots.end(), List());
  std::fill(full.begin(), full.end(), 0);
}

size_t TimingWheel::Ring::FirstFull(size_t begin, size_t end) const {
  while (begin < end) {
    const uint64_t rest = full[begin / 64] >> (begin % 64);
    if (rest != 0) return std::min(end, begin + absl::countr_zero(rest));
    begin = (begin / 64 + 1) * 64;
  }
  return end;
}

void TimingWheel::AddRing() {
  rings_.emplace_back(rings_.empty() ? 1 : rings_.back().turn, slots_);
  SetHorizon();
}

void TimingWheel::AddRingsFor(absl::Time due_at) {
  const int64_t tick = TickAt(due_at);
  if (tick == kNever) return;
  while (RingFor(tick - now_) == rings_.size()) AddRing();
}

void TimingWheel::SetHorizon() {
  const int64_t turn = rings_.back().turn;
  horizon_ = TimeAt(turn < kNever - now_ ? now_ + turn - 1 : kNever);
}

int64_t TimingWheel::NextEvent() const {
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

void TimingWheel::Advance(absl::Time now) {
  const int64_t end = LastTick(now);
  while (now_ < end) {
    now_ = std::min(end, NextEvent());
    for (size_t i = rings_.size(); i-- > 0;) {
      if (now_ % rings_[i].span == 0) Empty(rings_[i]);
    }
  }
}

void TimingWheel::Empty(Ring& ring) {
  const size_t slot = static_cast<size_t>(now_ / ring.span % slots_);
  SlabId id = ring.slots[slot].front;
  ring.slots[slot] = List();
  ring.SetEmpty(slot, true);
  while (id != kNoSlabId) {
    const Place at = places_[id];
    Put(id, at.tick);
    id = at.next;
  }
}

}  // namespace workqueue::internal
