// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_set.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace internal::waiting_set_test {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(1);

absl::Time At(int tick) { return absl::UnixEpoch() + tick * kTick; }

// Runs with a heap, and with a wheel. All times are ticks of the wheel.
class WaitingSetTest : public testing::TestWithParam<bool> {
 protected:
  static WaitingSetOptions Options() {
    return GetParam() ? *WaitingSetOptions::TimingWheel(kTick, /*slots=*/4)
                      : WaitingSetOptions();
  }

  void SetUp() override {
    clock_.on_time_now = [this] { ++reads_; };
  }

  // Inserts `id` for a thread that has read `now` from the clock.
  void Insert(SlabId id, absl::Time due_at, absl::Time now) {
    set_.Reserve(id, due_at);
    set_.Insert(id, due_at, now);
  }

  FakeClock fake_;
  ObservedClock clock_{&fake_};
  WaitingSet set_{Options(), &clock_};
  int reads_ = 0;  // of the clock, after the constructor
};

INSTANTIATE_TEST_SUITE_P(Kinds, WaitingSetTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Wheel" : "Heap";
                         });

TEST_P(WaitingSetTest, AClockThatGoesForwardIsNotReadAgain) {
  for (int i = 0; i < 100; ++i) {
    fake_.SetTime(At(10 * i));
    Insert(0, At(10 * i + 5), At(10 * i));
    EXPECT_EQ(set_.Due(At(10 * i + 4)), kNoSlabId);
    EXPECT_EQ(set_.Due(At(10 * i + 5)), 0u);
    set_.Remove(0);
  }
  EXPECT_EQ(reads_, 0);
}

// A thread reads the clock before it takes the lock, and so may come after a
// thread that has read a later time. That is no reason to read the clock again
// if the entry is due after both times.
TEST_P(WaitingSetTest, ALateComerIsNoReasonToReadTheClock) {
  fake_.SetTime(At(10));
  EXPECT_EQ(set_.Due(At(10)), kNoSlabId);
  Insert(0, At(11), At(8));
  EXPECT_EQ(set_.Due(At(10)), kNoSlabId);
  EXPECT_EQ(set_.Due(At(11)), 0u);
  Insert(1, At(7), At(8));
  EXPECT_EQ(set_.KnownDue(), GetParam() ? 0u : 1u);
  EXPECT_EQ(reads_, 0);
}

TEST_P(WaitingSetTest, ALateComersEntryThatHasBecomeDueIsDue) {
  fake_.SetTime(At(10));
  Insert(0, At(9), At(0));
  EXPECT_EQ(set_.Due(At(10)), 0u);
  Insert(1, At(8), At(7));
  EXPECT_EQ(reads_, 1);
  EXPECT_NE(set_.KnownDue(), kNoSlabId) << "the set has not been restarted";
  for (int i = 0; i < 2; ++i) {
    const SlabId due = set_.KnownDue();
    ASSERT_NE(due, kNoSlabId);
    set_.Remove(due);
  }
}

TEST_P(WaitingSetTest, AClockThatHasGoneBackIsFollowed) {
  fake_.SetTime(At(10));
  Insert(0, At(9), At(0));
  EXPECT_EQ(set_.Due(At(10)), 0u);
  fake_.SetTime(At(7));
  Insert(1, At(8), At(7));
  EXPECT_EQ(set_.KnownDue(), kNoSlabId);
  EXPECT_EQ(set_.Due(At(7)), kNoSlabId);
  EXPECT_EQ(set_.Due(At(8)), 1u);
  set_.Remove(1);
  EXPECT_EQ(set_.Due(At(9)), 0u);
  EXPECT_EQ(reads_, 1);
}

TEST_P(WaitingSetTest, SoIsOneThatGoesBackFurtherThanItsReader) {
  fake_.SetTime(At(10));
  EXPECT_EQ(set_.Due(At(10)), kNoSlabId);
  fake_.SetTime(At(3));
  Insert(0, At(8), At(7));  // has read the clock before it was at 3
  fake_.SetTime(At(4));
  Insert(1, At(5), At(4));
  EXPECT_EQ(set_.Due(At(4)), kNoSlabId);
  EXPECT_EQ(set_.Due(At(5)), 1u);
}

TEST_P(WaitingSetTest, WithoutANewEntryNothingWaitsAgain) {
  fake_.SetTime(At(10));
  Insert(0, At(9), At(0));
  EXPECT_EQ(set_.Due(At(10)), 0u);
  fake_.SetTime(At(7));
  EXPECT_EQ(set_.KnownDue(), 0u);
  Insert(1, At(11), At(7));
  EXPECT_EQ(set_.KnownDue(), 0u) << "the new entry is not due at 10 either";
  EXPECT_EQ(reads_, 0);
}

TEST_P(WaitingSetTest, MovingAnEntryFollowsTheClock) {
  Insert(0, At(100), At(0));
  fake_.SetTime(At(10));
  EXPECT_EQ(set_.Due(At(10)), kNoSlabId);
  fake_.SetTime(At(0));
  set_.Move(0, At(5), At(0));
  EXPECT_EQ(set_.Due(At(4)), kNoSlabId);
  EXPECT_EQ(set_.Due(At(5)), 0u);
}

// The rings of a wheel reach the entry after the restart, too.
TEST_P(WaitingSetTest, AnEntryThatIsFarAwayAfterwardsDoesNotMoveInEachTurn) {
  fake_.SetTime(At(1000000));
  EXPECT_EQ(set_.Due(At(1000000)), kNoSlabId);
  fake_.SetTime(At(0));
  Insert(0, At(900000), At(0));
  int events = 0;
  for (; set_.NextWake() < At(900000); ++events) {
    ASSERT_EQ(set_.Due(set_.NextWake()), kNoSlabId);
    ASSERT_LT(events, 20);
  }
  EXPECT_EQ(set_.Due(At(900000)), 0u);
}

TEST_P(WaitingSetTest, BeyondItsReachItFollowsASmallStepBack) {
  const absl::Time later = absl::UnixEpoch() + absl::Hours(24 * 365 * 400);
  fake_.SetTime(later);
  EXPECT_EQ(set_.Due(later), kNoSlabId);
  fake_.SetTime(later - kTick);
  Insert(0, later + kTick, later - kTick);
  EXPECT_EQ(set_.Due(later), kNoSlabId);
  EXPECT_EQ(set_.Due(later + kTick), 0u);
}

TEST_P(WaitingSetTest, AtTheEndOfItsReachItIsRestarted) {
  constexpr absl::Duration kYear = absl::Hours(24 * 365);
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 10; ++i) {
    now += 100 * kYear;
    Insert(0, now + 146 * kYear, now);
    EXPECT_EQ(set_.DueAt(0), now + 146 * kYear);
    EXPECT_EQ(set_.Due(now + 146 * kYear - kTick), kNoSlabId);
    EXPECT_EQ(set_.Due(now + 146 * kYear), 0u);
    set_.Remove(0);
    now += 146 * kYear;
  }
  EXPECT_EQ(reads_, 0);
}

}  // namespace
}  // namespace internal::waiting_set_test
}  // namespace workqueue
