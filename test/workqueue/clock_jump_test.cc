// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests every class with delays on a clock that goes back, that jumps by
// centuries, and that reaches the first and the last time.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::clock_jump_test {
namespace {

using Ints = std::vector<int>;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kTick = absl::Milliseconds(1);
constexpr absl::Duration kCentury = absl::Hours(24 * 365 * 100);

// Something that holds values until their delays are over.
class Subject {
 public:
  virtual ~Subject() = default;

  // Adds `value`, which must not be there.
  virtual void Add(int value, absl::Duration delay) = 0;

  // Gives `value`, which waits, another delay.
  virtual void Move(int value, absl::Duration delay) = 0;

  // Returns the values that have come since the last call, in order.
  virtual Ints Come() = 0;
};

class DelayQueueSubject final : public Subject {
 public:
  DelayQueueSubject(FakeClock* clock, const WaitingSetOptions& waiting_set)
      : queue_(Options(clock, waiting_set)) {}

  void Add(int value, absl::Duration delay) override {
    handles_.resize(std::max(handles_.size(), size_t(value) + 1));
    handles_[value] = queue_.Push(value, delay);
  }
  void Move(int value, absl::Duration delay) override {
    EXPECT_TRUE(queue_.Reset(handles_[value], delay));
  }
  Ints Come() override {
    Ints values;
    for (absl::StatusOr<int> value; (value = queue_.TryTake()).ok();) {
      values.push_back(*value);
    }
    return values;
  }

 private:
  static DelayQueueOptions Options(FakeClock* clock,
                                   const WaitingSetOptions& waiting_set) {
    DelayQueueOptions options;
    options.clock = clock;
    options.waiting_set = waiting_set;
    return options;
  }

  DelayQueue<int> queue_;
  std::vector<DelayQueueHandle> handles_;
};

class QueueSubject final : public Subject {
 public:
  QueueSubject(FakeClock* clock, const WaitingSetOptions& waiting_set)
      : clock_(*clock) {
    DelayingQueueOptions<int> options;
    options.clock = clock;
    options.waiting_set = waiting_set;
    queue_ = std::make_unique<DelayingQueue<int>>(std::move(options));
  }
  explicit QueueSubject(FakeClock* clock) : clock_(*clock) {
    PriorityQueueOptions<int> options;
    options.clock = clock;
    queue_ = std::make_unique<PriorityQueue<int>>(std::move(options));
  }

  void Add(int value, absl::Duration delay) override {
    queue_->AddAfter(value, delay);
  }
  void Move(int value, absl::Duration delay) override {
    queue_->Reschedule(value, delay);
  }
  Ints Come() override {
    clock_.Step(absl::ZeroDuration());
    Ints values;
    for (absl::StatusOr<int> value; (value = queue_->TryGet()).ok();) {
      values.push_back(*value);
      queue_->Done(*value);
    }
    return values;
  }

 private:
  FakeClock& clock_;
  std::unique_ptr<DelayingInterface<int>> queue_;
};

class SchedulerSubject final : public Subject {
 public:
  SchedulerSubject(FakeClock* clock, const WaitingSetOptions& waiting_set)
      : clock_(*clock) {
    SchedulerOptions options;
    options.clock = clock;
    options.workers = 1;
    options.waiting_set = waiting_set;
    scheduler_ = *Scheduler::Create(options);
  }

  void Add(int value, absl::Duration delay) override {
    ids_.resize(std::max(ids_.size(), size_t(value) + 1));
    ids_[value] = *scheduler_->ScheduleOnce(
        [this, value] {
          internal::MutexLock lock(&mu_);
          come_.push_back(value);
        },
        delay);
  }
  void Move(int value, absl::Duration delay) override {
    EXPECT_TRUE(scheduler_->Cancel(ids_[value]));
    Add(value, delay);
  }
  Ints Come() override {
    clock_.Step(absl::ZeroDuration());
    internal::MutexLock lock(&mu_);
    return std::exchange(come_, {});
  }

 private:
  FakeClock& clock_;
  absl::Mutex mu_;
  Ints come_ ABSL_GUARDED_BY(mu_);
  std::vector<TaskId> ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Subject> (*make)(FakeClock* clock);
  bool has_wheel = false;
};

void PrintTo(const Kind& kind, std::ostream* os) { *os << kind.name; }

template <typename T>
std::unique_ptr<Subject> OnHeap(FakeClock* clock) {
  return std::make_unique<T>(clock, WaitingSetOptions());
}
template <typename T>
std::unique_ptr<Subject> OnWheel(FakeClock* clock) {
  return std::make_unique<T>(
      clock, *WaitingSetOptions::TimingWheel(kTick, /*slots=*/16));
}
std::unique_ptr<Subject> WithPriorities(FakeClock* clock) {
  return std::make_unique<QueueSubject>(clock);
}

const Kind kKinds[] = {
    {"DelayQueue", &OnHeap<DelayQueueSubject>},
    {"DelayQueueWithAWheel", &OnWheel<DelayQueueSubject>, true},
    {"DelayingQueue", &OnHeap<QueueSubject>},
    {"DelayingQueueWithAWheel", &OnWheel<QueueSubject>, true},
    {"PriorityQueue", &WithPriorities},
    {"Scheduler", &OnHeap<SchedulerSubject>},
    {"SchedulerWithAWheel", &OnWheel<SchedulerSubject>, true},
};

class ClockJumpTest : public testing::TestWithParam<Kind> {
 protected:
  // Expects that nothing comes before `delay` has passed, and that `values`
  // come by then, or in the next tick of a wheel.
  void ExpectAfter(absl::Duration delay, const Ints& values) {
    EXPECT_EQ(subject_->Come(), Ints());
    clock_.Step(delay - kNs);
    EXPECT_EQ(subject_->Come(), Ints());
    clock_.Step(kNs);
    clock_.Step(kTick);
    EXPECT_EQ(subject_->Come(), values);
  }

  void MakeNew() { subject_ = GetParam().make(&clock_); }

  FakeClock clock_{absl::FromUnixSeconds(1000000) + absl::Microseconds(300)};
  std::unique_ptr<Subject> subject_ = GetParam().make(&clock_);
};

INSTANTIATE_TEST_SUITE_P(Kinds, ClockJumpTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

// Limiters choose such delays.
TEST_P(ClockJumpTest, FractionsOfANanosecondArePassedByAStep) {
  int value = 0;
  for (const absl::Duration delay :
       {absl::Seconds(1) / 3, kNs / 4, 7 * kNs / 4, absl::Seconds(1) / 3}) {
    subject_->Add(++value, delay);
    EXPECT_EQ(subject_->Come(), Ints());
    clock_.Step(delay);
    if (GetParam().has_wheel) clock_.Step(kTick);
    EXPECT_EQ(subject_->Come(), Ints{value});
  }
}

TEST_P(ClockJumpTest, NothingIsEarlyAfterItWentBack) {
  subject_->Add(1, absl::Hours(1));
  clock_.Step(absl::Hours(1) + kTick);
  EXPECT_EQ(subject_->Come(), Ints{1});
  clock_.Step(-absl::Hours(1));
  subject_->Add(2, absl::Minutes(10));
  ExpectAfter(absl::Minutes(10), {2});
}

TEST_P(ClockJumpTest, NothingIsEarlyBeforeTheTimeOfCreation) {
  clock_.Step(-absl::Hours(1));
  subject_->Add(1, absl::Minutes(10));
  ExpectAfter(absl::Minutes(10), {1});
  subject_->Add(2, absl::Minutes(10));
  ExpectAfter(absl::Minutes(10), {2});
}

TEST_P(ClockJumpTest, NothingIsEarlyThatMovesAfterItWentBack) {
  subject_->Add(1, absl::Minutes(30));
  subject_->Add(2, absl::Hours(100));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(subject_->Come(), Ints{1});
  clock_.Step(-absl::Hours(1));
  subject_->Move(2, absl::Minutes(10));
  ExpectAfter(absl::Minutes(10), {2});
}

TEST_P(ClockJumpTest, WhatWaitsGoesOnWaitingForItsTime) {
  subject_->Add(1, absl::Hours(1));
  subject_->Add(2, absl::Minutes(30));
  clock_.Step(absl::Minutes(30) + kTick);
  EXPECT_EQ(subject_->Come(), Ints{2});
  clock_.Step(-absl::Minutes(20));
  subject_->Add(3, absl::Minutes(5));
  ExpectAfter(absl::Minutes(5), {3});
  clock_.Step(-2 * kTick);
  ExpectAfter(absl::Minutes(45), {1});
}

// Values of all distances, so that each ring of a wheel has some.
TEST_P(ClockJumpTest, EachComesAtItsTimeWhicheverWayTheClockWent) {
  const absl::Time start = clock_.TimeNow();
  std::vector<absl::Time> due;
  Ints left;
  for (int i = 0; i < 60; ++i) {
    clock_.SetTime(start + absl::Milliseconds(i * 7919 % 100000) -
                   absl::Seconds(50));
    const absl::Duration delay = absl::Microseconds(1) * (int64_t{1} << i / 2);
    due.push_back(clock_.TimeNow() + delay);
    subject_->Add(i, delay);
    left.push_back(i);
    for (int value : subject_->Come()) {
      EXPECT_GE(clock_.TimeNow(), due[value]);
      left.erase(std::find(left.begin(), left.end(), value));
    }
  }
  clock_.SetTime(start - absl::Seconds(100));
  EXPECT_EQ(subject_->Come(), Ints());
  while (!left.empty()) {
    absl::Time next = absl::InfiniteFuture();
    for (int value : left) next = std::min(next, due[value]);
    clock_.SetTime(next - kNs);
    EXPECT_EQ(subject_->Come(), Ints());
    clock_.SetTime(next + kTick);
    const Ints come = subject_->Come();
    EXPECT_FALSE(come.empty());
    for (int value : come) {
      EXPECT_GE(clock_.TimeNow(), due[value]);
      left.erase(std::find(left.begin(), left.end(), value));
    }
  }
}

TEST_P(ClockJumpTest, NothingIsLateCenturiesLater) {
  for (int i = 0; i < 5; ++i) {
    clock_.Step(3 * kCentury);
    subject_->Add(1, absl::Seconds(1));
    subject_->Add(2, absl::InfiniteDuration());
    subject_->Add(3, absl::Hours(24 * 365));
    ExpectAfter(absl::Seconds(1), {1});
    ExpectAfter(absl::Hours(24 * 365) - absl::Seconds(1) - kTick, {3});
    subject_->Move(2, kCentury);
    ExpectAfter(kCentury, {2});
  }
}

TEST_P(ClockJumpTest, NothingIsEarlyCenturiesBefore) {
  for (int i = 0; i < 5; ++i) {
    clock_.Step(-3 * kCentury);
    subject_->Add(1, absl::Seconds(1));
    subject_->Add(2, kCentury);
    ExpectAfter(absl::Seconds(1), {1});
    ExpectAfter(kCentury - absl::Seconds(1) - kTick, {2});
  }
}

TEST_P(ClockJumpTest, WhatIsCenturiesLateComesBeforeWhatIsNot) {
  subject_->Add(1, absl::Seconds(1));
  clock_.Step(3 * kCentury);
  subject_->Add(2, absl::ZeroDuration());
  subject_->Add(3, absl::Seconds(1));
  EXPECT_EQ(subject_->Come(), (Ints{1, 2}));
  ExpectAfter(absl::Seconds(1), {3});
}

TEST_P(ClockJumpTest, AtTheLastTimeAllThatIsEverDueComes) {
  subject_->Add(1, absl::Hours(1));
  subject_->Add(2, absl::InfiniteDuration());
  subject_->Add(3, absl::Hours(2));
  clock_.Step(absl::InfiniteDuration());
  EXPECT_EQ(subject_->Come(), (Ints{1, 3}));
  subject_->Add(4, kNs);
  subject_->Add(5, absl::ZeroDuration());
  EXPECT_EQ(subject_->Come(), Ints{5});
}

TEST_P(ClockJumpTest, ItCanGoBackFromTheLastTime) {
  clock_.SetTime(absl::InfiniteFuture());
  subject_->Add(1, absl::ZeroDuration());
  EXPECT_EQ(subject_->Come(), Ints{1});
  clock_.Step(-absl::Hours(1));
  subject_->Add(2, absl::Minutes(1));
  ExpectAfter(absl::Minutes(1), {2});
  clock_.SetTime(absl::UnixEpoch());
  subject_->Add(3, absl::Minutes(1));
  ExpectAfter(absl::Minutes(1), {3});
}

TEST_P(ClockJumpTest, ItCanBeginAtTheFirstTime) {
  clock_.SetTime(absl::InfinitePast());
  MakeNew();
  subject_->Add(1, absl::Minutes(1));
  ExpectAfter(absl::Minutes(1), {1});
  clock_.SetTime(absl::UnixEpoch());
  subject_->Add(2, absl::Minutes(1));
  ExpectAfter(absl::Minutes(1), {2});
  clock_.SetTime(absl::InfiniteFuture());
  subject_->Add(3, absl::ZeroDuration());
  EXPECT_EQ(subject_->Come(), Ints{3});
}

}  // namespace
}  // namespace workqueue::clock_jump_test
