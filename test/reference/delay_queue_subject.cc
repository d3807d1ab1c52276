// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/driven_loops.h"
#include "test/reference/subject.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace reference {
namespace delay_queue_subject {
namespace {

using Value = std::optional<int>;
using Values = std::vector<int>;

// The model: a list, with a linear search for everything.
class Model {
 public:
  // `tick` is the tick of the wheel in which values wait, or zero if there is
  // no wheel. The wheel begins at `start`.
  Model(absl::Time start, absl::Duration tick)
      : start_(start), tick_(tick), now_(start) {}

  bool Push(int value, absl::Duration delay) {
    if (shut_down_) return false;
    entries_.push_back(NewEntry(value, delay));
    return true;
  }

  bool Cancel(int value) {
    const auto it = Find(value);
    if (it == entries_.end()) return false;
    entries_.erase(it);
    return true;
  }

  bool Reset(int value, absl::Duration delay) {
    const auto it = Find(value);
    if (shut_down_ || it == entries_.end()) return false;
    *it = NewEntry(value, delay);
    return true;
  }

  // Returns the next value, if one is due. A wheel returns values that are due
  // in any order. So with a wheel the model returns `got` if that value is due.
  // A value that was due before the clock went back may come or not. It counts
  // as due if `got` is a value.
  Value Take(Value got) {
    auto first = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->comes_at > now_ && !(it->was_due && got.has_value())) continue;
      if (first == entries_.end() || ComesBefore(*it, *first, got)) first = it;
    }
    if (first == entries_.end()) return std::nullopt;
    const int value = first->value;
    entries_.erase(first);
    return value;
  }

  bool HasDue() const {
    return std::any_of(
        entries_.begin(), entries_.end(),
        [this](const Entry& entry) { return entry.comes_at <= now_; });
  }

  // Returns the time at which the next value comes.
  absl::Time Next() const {
    absl::Time next = absl::InfiniteFuture();
    for (const Entry& entry : entries_) next = std::min(next, entry.comes_at);
    return next;
  }

  void MoveTo(absl::Time now) {
    now_ = now;
    for (Entry& entry : entries_) entry.was_due |= entry.comes_at <= now_;
  }

  void ShutDown() {
    if (shut_down_) return;
    shut_down_ = true;
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [this](const Entry& entry) {
                                    return entry.comes_at > now_;
                                  }),
                   entries_.end());
    // All values that are left are due, even if the clock goes back.
    for (Entry& entry : entries_) entry.comes_at = absl::InfinitePast();
  }

  bool ShuttingDown() const { return shut_down_; }
  size_t Len() const { return entries_.size(); }

 private:
  struct Entry {
    absl::Time ready_at;
    int sequence;
    int value;
    absl::Time comes_at;
    bool was_due;  // since it was given this time
  };

  Entry NewEntry(int value, absl::Duration delay) {
    const absl::Time ready_at = now_ + delay;
    return {ready_at, next_++, value, ComesAt(ready_at), ready_at <= now_};
  }

  // A value is never early. With a wheel, it is late by less than a tick. It is
  // not late if it is due when it is given its time.
  absl::Time ComesAt(absl::Time ready_at) const {
    if (tick_ == absl::ZeroDuration() || ready_at == absl::InfiniteFuture()) {
      return ready_at;
    }
    const absl::Duration d = ready_at - start_;
    return start_ +
           (ready_at <= now_ ? absl::Floor(d, tick_) : absl::Ceil(d, tick_));
  }

  bool ComesBefore(const Entry& a, const Entry& b, Value got) const {
    if (tick_ > absl::ZeroDuration()) return a.value == got;
    return std::tie(a.ready_at, a.sequence) < std::tie(b.ready_at, b.sequence);
  }

  std::vector<Entry>::iterator Find(int value) {
    return std::find_if(
        entries_.begin(), entries_.end(),
        [value](const Entry& entry) { return entry.value == value; });
  }

  const absl::Time start_;
  const absl::Duration tick_;
  absl::Time now_;
  std::vector<Entry> entries_;
  int next_ = 0;
  bool shut_down_ = false;
};

// A delay queue with values numbered from zero, and its model.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    constexpr size_t kSlots[] = {16, 2, 64};
    choices_.Next();
    const int kind = choices_.Below(4);
    is_wheel_ = kind > 0;
    const absl::Duration tick =
        is_wheel_ ? absl::Milliseconds(10) : absl::ZeroDuration();
    workqueue::DelayQueueOptions options;
    options.clock = ClockOrLoop(&clock_);
    if (is_wheel_) {
      options.waiting_set =
          *workqueue::WaitingSetOptions::TimingWheel(tick, kSlots[kind - 1]);
    }
    comparison_.Did("DelayQueue", is_wheel_ ? "with a wheel" : "with a heap");
    queue_ = std::make_unique<workqueue::DelayQueue<int>>(options);
    model_ = std::make_unique<Model>(clock_.TimeNow(), tick);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      comparison_.Same("Len()", queue_->Len(), model_->Len());
    }
    Finish();
    return comparison_.disagreement();
  }

 private:
  void DoOne() {
    const int choice = choices_.Below(100);
    if (choice < 36) {
      const int value = static_cast<int>(handles_.size());
      const absl::Duration delay = Delay();
      handles_.push_back(queue_->Push(value, delay));
      comparison_.Returned(static_cast<bool>(handles_.back()),
                           model_->Push(value, delay), "Push", value, delay);
    } else if (choice < 48) {
      CompareTaken(queue_->TryTake(), "TryTake");
    } else if (choice < 50) {
      CompareTaken(queue_->TakeWithTimeout(absl::ZeroDuration()),
                   "TakeWithTimeout(now)");
    } else if (choice < 54) {
      // Take() would block.
      if (!model_->HasDue() && !model_->ShuttingDown()) return;
      const Value value = queue_->Take();
      comparison_.Returned(value, model_->Take(value), "Take");
    } else if (choice < 58) {
      TakeUpTo(1 + choices_.Below(10));
    } else if (choice < 68) {
      if (handles_.empty()) return;
      const int value = AnyValue();
      comparison_.Returned(queue_->Cancel(handles_[value]),
                           model_->Cancel(value), "Cancel", value);
    } else if (choice < 86) {
      if (handles_.empty()) return;
      const int value = AnyValue();
      const absl::Duration delay = Delay();
      comparison_.Returned(queue_->Reset(handles_[value], delay),
                           model_->Reset(value, delay), "Reset", value, delay);
    } else if (choice < 91) {
      MoveTo(clock_.TimeNow() + Step());
    } else if (choice < 94) {
      // The order of values that are more than 292 years late is not defined.
      const bool far = choice == 93 && !model_->HasDue();
      MoveTo(clock_.TimeNow() + (far ? absl::Hours(24 * 365 * 200) : -Step()));
    } else if (choice < 99) {
      const absl::Time next =
          model_->Next() - absl::Nanoseconds(choices_.Below(2));
      if (next > clock_.TimeNow() && next < absl::InfiniteFuture()) {
        MoveTo(next);
      }
    } else if (choices_.OneIn(16)) {
      ShutDown();
    }
  }

  // Returns one of a few delays with a heap, so that many times are equal, and
  // one of many delays with a wheel.
  absl::Duration Delay() {
    if (!is_wheel_) {
      const int n = choices_.Below(51);
      return n == 50 ? absl::InfiniteDuration()
                     : absl::Milliseconds(n < 45 ? n + 1 : 45 - n);
    }
    const int n = choices_.WideBelow(50001);
    if (n == 50000) return absl::InfiniteDuration();
    return n < 49800 ? absl::Microseconds(100 * n)
                     : absl::Milliseconds(49800 - n);
  }

  absl::Duration Step() {
    return is_wheel_ ? absl::Microseconds(2 * choices_.WideBelow(50000))
                     : absl::Milliseconds(choices_.Below(10));
  }

  // Returns one of the latest values.
  int AnyValue() {
    const int pushed = static_cast<int>(handles_.size());
    return pushed - 1 - choices_.Below(std::min(pushed, 200));
  }

  void CompareTaken(const absl::StatusOr<int>& got, const char* name) {
    const Value expected = model_->Take(got.ok() ? Value(*got) : std::nullopt);
    comparison_.Returned(got.ok() ? Value(*got) : std::nullopt, expected, name);
    if (!got.ok()) CompareStatus(got.status());
  }

  void CompareStatus(const absl::Status& got) {
    comparison_.Same("the status", got.code(),
                     model_->ShuttingDown()
                         ? absl::StatusCode::kCancelled
                         : absl::StatusCode::kDeadlineExceeded);
  }

  void TakeUpTo(size_t max) {
    const absl::StatusOr<Values> got =
        queue_->TakeUpToWithTimeout(max, absl::ZeroDuration());
    Values expected;
    while (expected.size() < max) {
      const size_t i = expected.size();
      const Value value = model_->Take(
          got.ok() && i < got->size() ? Value((*got)[i]) : std::nullopt);
      if (!value.has_value()) break;
      expected.push_back(*value);
    }
    comparison_.Returned(got.ok() ? *got : Values(), expected, "TakeUpTo", max);
    if (!got.ok()) CompareStatus(got.status());
  }

  void MoveTo(absl::Time now) {
    comparison_.Did("SetTime", now);
    clock_.SetTime(now);
    model_->MoveTo(now);
  }

  void ShutDown() {
    queue_->ShutDown();
    model_->ShutDown();
    comparison_.Did("ShutDown");
    comparison_.Same("ShuttingDown()", queue_->ShuttingDown(), true);
  }

  // Checks that all values that are due at the end come out.
  void Finish() {
    if (!comparison_.agrees()) return;
    ShutDown();
    for (int value : queue_->Stream()) {
      const Value got = value;
      comparison_.Returned(got, model_->Take(got), "the next of Stream()");
    }
    comparison_.Same("Len()", queue_->Len(), model_->Len());
  }

  Choices choices_;
  Comparison comparison_;
  workqueue::FakeClock clock_;
  bool is_wheel_;
  std::unique_ptr<workqueue::DelayQueue<int>> queue_;
  std::unique_ptr<Model> model_;
  // the handle of each value
  std::vector<workqueue::DelayQueueHandle> handles_;
};

}  // namespace
}  // namespace delay_queue_subject

Subject DelayQueueSubject() {
  return {"delay_queue", [](Choices choices, std::string* log) {
            return delay_queue_subject::Run(choices, log).Disagreement();
          }};
}

}  // namespace reference
