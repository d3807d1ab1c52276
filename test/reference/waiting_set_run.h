// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_WAITING_SET_RUN_H_
#define WORKQUEUE_TEST_REFERENCE_WAITING_SET_RUN_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "workqueue/base/slab.h"

namespace reference {

// WaitingSetRun
//
// A `WaitingHeap` or a `TimingWheel`, and a map as its model.
template <typename Set>
class WaitingSetRun {
 public:
  // `set` must begin at the epoch. `tick` is zero for a heap.
  WaitingSetRun(Set* set, absl::Duration tick, const Choices& choices,
                Comparison* comparison)
      : set_(*set), tick_(tick), choices_(choices), comparison_(*comparison) {
    constexpr int kDisorders[] = {0, 1, 3, 30, 1000};
    choices_.Next();
    ids_ = 1 + choices_.Below(256);
    in_order_ = choices_.OneIn(2);
    disorder_ = kDisorders[choices_.Below(5)];
  }

  void Run() {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      comparison_.Same("size()", set_.size(), entries_.size());
      CompareNext();
    }
    if (comparison_.agrees()) CompareTimes();
  }

 private:
  using SlabId = workqueue::internal::SlabId;

  static constexpr absl::Duration kCenturies = absl::Hours(24 * 365 * 400);

  struct Entry {
    absl::Time due_at;
    int sequence;
    absl::Time comes_at;
    bool was_due;  // when it was given this time
  };

  bool IsHeap() const { return tick_ == absl::ZeroDuration(); }

  void DoOne() {
    const int choice = choices_.Below(100);
    const SlabId id = choices_.Below(ids_);
    if (choice < 45) {
      InsertOrMove(id, /*reserve=*/choice % 4 > 0);
    } else if (choice < 58) {
      if (entries_.erase(id) == 0) return;
      set_.Remove(id);
      comparison_.Did("Remove", id);
    } else if (choice < 78) {
      TakeFirst();
    } else if (choice < 93) {
      now_ = choice < 86 ? AnyTime() : AlmostNext();
      TakeDue();
    } else if (choice < 95) {
      Restart();
    } else if (choice < 99) {
      CompareTimes();
    } else if (choices_.OneIn(16)) {
      set_.Clear();
      entries_.clear();
      comparison_.Did("Clear");
    }
  }

  // Returns a time that is not before now. Depending on the run, the times are
  // nearly in order, or most are near and some far.
  absl::Time AnyTime() {
    if (in_order_) {
      const absl::Duration unit = IsHeap() ? absl::Nanoseconds(1) : tick_ / 4;
      ++steps_;
      const absl::Time time =
          absl::UnixEpoch() +
          unit * (steps_ / 2 + choices_.Below(256) * disorder_ / 256);
      return std::max(now_, time);
    }
    const int shift = choices_.Below(43);
    return now_ + absl::Nanoseconds(int64_t{choices_.Below(256)} << shift);
  }

  void InsertOrMove(SlabId id, bool reserve) {
    const bool is_new = entries_.count(id) == 0;
    const absl::Time due_at = AnyTime();
    // If there are no rings for an entry's time, the entry goes to the last
    // ring and moves on from there. An entry that is far away would do this too
    // often.
    const bool has_rings = reserve || due_at > now_ + absl::Minutes(1);
    if (is_new || has_rings) set_.Reserve(id, has_rings ? due_at : now_);
    const Entry& entry =
        entries_[id] = {due_at, next_++, ComesAt(due_at), due_at <= now_};
    const absl::Time wake =
        is_new ? set_.Insert(id, due_at, now_) : set_.Move(id, due_at, now_);
    comparison_.Did(is_new ? "Insert" : "Move", id, due_at);
    if (IsHeap()) {
      comparison_.Same("when to look", wake, due_at);
    } else {
      comparison_.Holds(wake <= entry.comes_at, "it is looked at in time");
      comparison_.Holds(set_.NextWake() <= wake,
                        "NextWake() is not after what Insert() returned");
    }
    CompareTime(id, entry);
  }

  // An entry that is due comes at once.
  absl::Time ComesAt(absl::Time due_at) const {
    if (IsHeap()) return due_at;
    const absl::Duration d = due_at - absl::UnixEpoch();
    return absl::UnixEpoch() +
           (due_at <= now_ ? absl::Floor(d, tick_) : absl::Ceil(d, tick_));
  }

  // Moves the time back, or far away if no entry waits.
  void Restart() {
    const int shift = choices_.Below(43);
    now_ -= absl::Nanoseconds(int64_t{choices_.Below(256)} << shift);
    if (entries_.empty() && !in_order_) {
      now_ += kCenturies * (choices_.Below(3) - 1);
    }
    set_.Restart(now_);
    comparison_.Did("Restart", now_);
    CompareTimes();
  }

  // Returns the entry with the earliest time, and the oldest one among equal
  // times.
  auto First() const {
    return std::min_element(entries_.begin(), entries_.end(),
                            [](const auto& a, const auto& b) {
                              return Key(a.second) < Key(b.second);
                            });
  }

  static std::tuple<absl::Time, int> Key(const Entry& entry) {
    return {entry.comes_at, entry.sequence};
  }

  void TakeFirst() {
    if (entries_.empty()) return;
    now_ = std::max(now_, First()->second.comes_at);
    const SlabId id = set_.Due(now_);
    comparison_.Did("Due", now_);
    Take(id);
  }

  // Returns the time of the next event, or one nanosecond before it.
  absl::Time AlmostNext() {
    const absl::Time next =
        set_.NextWake() - absl::Nanoseconds(choices_.Below(2));
    return next == absl::InfiniteFuture() ? now_ : std::max(now_, next);
  }

  void TakeDue() {
    comparison_.Did("all Due", now_);
    while (comparison_.agrees()) {
      const SlabId id = set_.Due(now_);
      if (id == workqueue::internal::kNoSlabId) break;
      Take(id);
    }
    for (const auto& [id, entry] : entries_) {
      comparison_.Holds(entry.comes_at > now_, "nothing is late");
    }
    comparison_.Holds(set_.NextWake() > now_, "there is no need to look again");
  }

  // Removes `id`, which the set reports as due.
  void Take(SlabId id) {
    const auto it = entries_.find(id);
    comparison_.Holds(it != entries_.end(), "what is due is in the set");
    if (!comparison_.agrees()) return;
    comparison_.Holds(it->second.due_at <= now_ || it->second.was_due,
                      "nothing is early");
    comparison_.Holds(it->second.comes_at <= now_, "what waits again waits");
    if (IsHeap()) {
      comparison_.Same("who is due first", id, First()->first);
    }
    comparison_.Same("KnownDue()", set_.KnownDue(), id);
    set_.Remove(id);
    entries_.erase(it);
  }

  void CompareNext() {
    if (entries_.empty()) {
      comparison_.Same("NextWake()", set_.NextWake(), absl::InfiniteFuture());
      return;
    }
    const absl::Time next = First()->second.comes_at;
    if (IsHeap()) {
      comparison_.Same("NextWake()", set_.NextWake(), next);
    } else {
      comparison_.Holds(set_.NextWake() <= next, "who is next is looked at");
    }
  }

  void CompareTime(SlabId id, const Entry& entry) {
    comparison_.Same("DueAt()", set_.DueAt(id), entry.comes_at);
  }

  void CompareTimes() {
    comparison_.Did("DueAt of each");
    for (const auto& [id, entry] : entries_) CompareTime(id, entry);
  }

  Set& set_;
  const absl::Duration tick_;
  Choices choices_;
  Comparison& comparison_;
  int ids_;
  bool in_order_;
  int disorder_;
  int steps_ = 0;
  int next_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  std::map<SlabId, Entry> entries_;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_WAITING_SET_RUN_H_
