// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the shortest and longest delays, for every function with a delay.

#include <memory>
#include <ostream>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::bounds_test {
namespace {

constexpr absl::Duration kNanosecond = absl::Nanoseconds(1);
constexpr absl::Duration kYears292 = absl::Hours(24 * 365 * 292);

struct Bound {
  const char* name;
  absl::Duration delay;
  // The time after which the delay is over; infinite if it never is.
  absl::Duration over_after;
};

void PrintTo(const Bound& bound, std::ostream* os) { *os << bound.delay; }

const Bound kBounds[] = {
    {"MinusInfinite", -absl::InfiniteDuration(), absl::ZeroDuration()},
    {"MinusANanosecond", -kNanosecond, absl::ZeroDuration()},
    {"Zero", absl::ZeroDuration(), absl::ZeroDuration()},
    {"AQuarterOfANanosecond", kNanosecond / 4, kNanosecond},
    {"ANanosecond", kNanosecond, kNanosecond},
    {"AnHour", absl::Hours(1), absl::Hours(1)},
    {"Years292", kYears292, kYears292},
    {"Infinite", absl::InfiniteDuration(), absl::InfiniteDuration()},
};

class BoundsTest : public testing::TestWithParam<Bound> {
 protected:
  // Expects `len()` to grow at most a `tick` after the delay is over, and not
  // earlier.
  template <typename F>
  void ExpectToCome(F len, absl::Duration tick = {}) {
    const absl::Duration over_after = GetParam().over_after;
    clock_.Step(absl::ZeroDuration());
    if (over_after == absl::ZeroDuration()) {
      EXPECT_EQ(len(), 1u);
      return;
    }
    EXPECT_EQ(len(), 0u);
    if (over_after == absl::InfiniteDuration()) {
      clock_.Step(kYears292);
      clock_.Step(kYears292);
      EXPECT_EQ(len(), 0u);
      return;
    }
    clock_.Step(over_after - kNanosecond);
    EXPECT_EQ(len(), 0u);
    clock_.Step(kNanosecond);
    const bool on_time = len() == 1;
    clock_.Step(tick);
    EXPECT_TRUE(on_time || (tick > absl::ZeroDuration() && len() == 1));
  }

  void ExpectOfAddAfter(DelayingInterface<int>& queue,
                        absl::Duration tick = {}) {
    EXPECT_TRUE(queue.AddAfter(1, GetParam().delay));
    ExpectToCome([&queue] { return queue.Len(); }, tick);
  }

  void ExpectOfReschedule(DelayingInterface<int>& queue,
                          absl::Duration tick = {}) {
    EXPECT_TRUE(queue.AddAfter(1, absl::Minutes(1)));
    EXPECT_TRUE(queue.Reschedule(1, GetParam().delay));
    ExpectToCome([&queue] { return queue.Len(); }, tick);
  }

  std::unique_ptr<DelayingQueue<int>> MakeDelayingQueue(
      WaitingSetOptions waiting_set = {}) {
    DelayingQueueOptions<int> options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    return std::make_unique<DelayingQueue<int>>(std::move(options));
  }

  std::unique_ptr<PriorityQueue<int>> MakePriorityQueue() {
    PriorityQueueOptions<int> options;
    options.clock = &clock_;
    return std::make_unique<PriorityQueue<int>>(std::move(options));
  }

  void ExpectOfPush(WaitingSetOptions waiting_set, absl::Duration tick = {}) {
    DelayQueue<int> queue(On(waiting_set));
    EXPECT_TRUE(queue.Push(1, GetParam().delay));
    ExpectToCome([&queue] { return queue.TryTake().ok() ? 1u : 0u; }, tick);
  }

  void ExpectOfReset(WaitingSetOptions waiting_set, absl::Duration tick = {}) {
    DelayQueue<int> queue(On(waiting_set));
    const DelayQueueHandle handle = queue.Push(1, absl::Minutes(1));
    EXPECT_TRUE(queue.Reset(handle, GetParam().delay));
    ExpectToCome([&queue] { return queue.TryTake().ok() ? 1u : 0u; }, tick);
  }

  DelayQueueOptions On(WaitingSetOptions waiting_set) {
    DelayQueueOptions options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    return options;
  }

  const WaitingSetOptions wheel_ = *WaitingSetOptions::TimingWheel();
  FakeClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Delays, BoundsTest, testing::ValuesIn(kBounds),
                         [](const auto& info) { return info.param.name; });

TEST_P(BoundsTest, OfAddAfter) { ExpectOfAddAfter(*MakeDelayingQueue()); }

TEST_P(BoundsTest, OfAddAfterWithAWheel) {
  ExpectOfAddAfter(*MakeDelayingQueue(wheel_), wheel_.tick());
}

TEST_P(BoundsTest, OfAddAfterInAPriorityQueue) {
  ExpectOfAddAfter(*MakePriorityQueue());
}

TEST_P(BoundsTest, OfReschedule) { ExpectOfReschedule(*MakeDelayingQueue()); }

TEST_P(BoundsTest, OfRescheduleWithAWheel) {
  ExpectOfReschedule(*MakeDelayingQueue(wheel_), wheel_.tick());
}

TEST_P(BoundsTest, OfRescheduleInAPriorityQueue) {
  ExpectOfReschedule(*MakePriorityQueue());
}

TEST_P(BoundsTest, OfPush) { ExpectOfPush(WaitingSetOptions()); }

TEST_P(BoundsTest, OfPushWithAWheel) { ExpectOfPush(wheel_, wheel_.tick()); }

TEST_P(BoundsTest, OfReset) { ExpectOfReset(WaitingSetOptions()); }

TEST_P(BoundsTest, OfResetWithAWheel) { ExpectOfReset(wheel_, wheel_.tick()); }

}  // namespace
}  // namespace workqueue::bounds_test
