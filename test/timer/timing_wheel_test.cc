// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/timing_wheel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal::timing_wheel_test {
namespace {

using internal::kNoSlabId;
using internal::SlabId;

constexpr absl::Duration kTick = absl::Milliseconds(10);

absl::Time At(absl::Duration d) { return absl::UnixEpoch() + d; }

class TimingWheelTest : public testing::Test {
 protected:
  // Inserts a new entry at time zero.
  SlabId Insert(absl::Duration delay) {
    const SlabId entry = next_++;
    wheel_.Reserve(entry, At(delay));
    wheel_.Insert(entry, At(delay), absl::UnixEpoch());
    return entry;
  }

  // Expects that the only entry, which is due at `time`, moves a few times
  // until then, and not in each turn of the first ring.
  void ExpectFewMovesUntil(absl::Time time) {
    for (int moves = 0; wheel_.NextWake() < time; ++moves) {
      ASSERT_EQ(wheel_.Due(wheel_.NextWake()), kNoSlabId);
      ASSERT_LT(moves, 20);
    }
  }

  SlabId next_ = 0;
  TimingWheel wheel_{absl::UnixEpoch(), kTick, /*slots=*/4};
};

TEST_F(TimingWheelTest, AnEmptyWheelDoesNotTick) {
  EXPECT_EQ(wheel_.size(), 0u);
  EXPECT_EQ(wheel_.NextWake(), absl::InfiniteFuture());
  EXPECT_EQ(wheel_.Due(At(absl::Hours(1))), kNoSlabId);
}

TEST_F(TimingWheelTest, AnEntryIsDueAtTheFirstTickThatIsNotBeforeItsTime) {
  const SlabId exact = Insert(2 * kTick);
  const SlabId rounded = Insert(2 * kTick + absl::Nanoseconds(1));
  EXPECT_EQ(wheel_.NextWake(), At(2 * kTick));
  EXPECT_EQ(wheel_.Due(At(2 * kTick - absl::Nanoseconds(1))), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(2 * kTick)), exact);
  wheel_.Remove(exact);
  EXPECT_EQ(wheel_.Due(At(3 * kTick - absl::Nanoseconds(1))), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), rounded);
}

TEST_F(TimingWheelTest, WhatIsPastIsDueAtOnce) {
  const SlabId entry = Insert(-absl::Hours(1));
  EXPECT_EQ(wheel_.NextWake(), absl::InfinitePast());
  EXPECT_EQ(wheel_.Due(absl::UnixEpoch()), entry);
}

TEST_F(TimingWheelTest, WhatIsDueNowDoesNotWaitForTheNextTick) {
  const absl::Time now = At(3 * kTick + absl::Nanoseconds(7));
  Insert(20 * kTick);
  constexpr SlabId inserted = 1, moved = 2;
  wheel_.Reserve(inserted, now);
  wheel_.Insert(inserted, now, now);
  EXPECT_LE(wheel_.NextWake(), now);
  EXPECT_EQ(wheel_.Due(now), inserted);
  wheel_.Remove(inserted);
  wheel_.Reserve(moved, At(9 * kTick));
  wheel_.Insert(moved, At(9 * kTick), now);
  EXPECT_EQ(wheel_.Due(now), kNoSlabId);
  EXPECT_LE(wheel_.Move(moved, now, now), now);
  EXPECT_EQ(wheel_.Due(now), moved);
  EXPECT_LE(wheel_.DueAt(moved), now);
}

TEST_F(TimingWheelTest, FractionsOfANanosecondAreRoundedUp) {
  TimingWheel wheel(absl::UnixEpoch(), absl::Nanoseconds(1), /*slots=*/4);
  constexpr SlabId entry = 0;
  const absl::Time due_at = At(absl::Nanoseconds(2.25));
  wheel.Reserve(entry, due_at);
  wheel.Insert(entry, due_at, absl::UnixEpoch());
  EXPECT_EQ(wheel.Due(At(absl::Nanoseconds(2.75))), kNoSlabId);
  EXPECT_EQ(wheel.Due(At(absl::Nanoseconds(3))), entry);
}

// The last nanosecond that 64 bits can count, and the times after it.
TEST_F(TimingWheelTest, TheEndOfTime) {
  const auto end = absl::Nanoseconds(std::numeric_limits<int64_t>::max());
  for (const absl::Duration tick :
       {absl::Nanoseconds(1), kTick, absl::Hours(24)}) {
    for (const size_t slots : {2, 256, 1000000}) {
      TimingWheel wheel(absl::UnixEpoch(), tick, slots);
      constexpr SlabId last = 0, never = 1;
      const absl::Time last_at = At(end - 2 * tick);
      wheel.Reserve(last, last_at);
      wheel.Insert(last, last_at, absl::UnixEpoch());
      wheel.Reserve(never, At(2 * end));
      wheel.Insert(never, At(2 * end), absl::UnixEpoch());
      ASSERT_EQ(wheel.Due(last_at - absl::Nanoseconds(1)), kNoSlabId);
      ASSERT_EQ(wheel.Due(last_at + tick), last);
      wheel.Remove(last);
      ASSERT_EQ(wheel.NextWake(), absl::InfiniteFuture());
      ASSERT_EQ(wheel.Due(At(3 * end)), kNoSlabId);
    }
  }
}

TEST_F(TimingWheelTest, LaterTurnsAreWaitedFor) {
  // A ring has four slots, so ticks 1, 5, 17 and 65 have the same slot.
  for (int tick : {65, 5, 17, 1}) Insert(tick * kTick);
  for (int tick : {1, 5, 17, 65}) {
    EXPECT_EQ(wheel_.Due(At(tick * kTick - absl::Nanoseconds(1))), kNoSlabId);
    const SlabId due = wheel_.Due(At(tick * kTick));
    ASSERT_NE(due, kNoSlabId) << tick;
    EXPECT_EQ(wheel_.DueAt(due), At(tick * kTick));
    wheel_.Remove(due);
  }
  EXPECT_EQ(wheel_.NextWake(), absl::InfiniteFuture());
}

TEST_F(TimingWheelTest, InfinitelyLateIsNeverDue) {
  const SlabId entry = Insert(absl::InfiniteDuration());
  EXPECT_EQ(wheel_.size(), 1u);
  EXPECT_EQ(wheel_.NextWake(), absl::InfiniteFuture());
  EXPECT_EQ(wheel_.Due(At(absl::Hours(24 * 365 * 290))), kNoSlabId);
  wheel_.Remove(entry);
  EXPECT_EQ(wheel_.size(), 0u);
}

TEST_F(TimingWheelTest, AfterLongIdlenessNothingIsMovedInVain) {
  const absl::Time later = At(absl::Hours(24 * 365));
  constexpr SlabId entry = 0;
  wheel_.Reserve(entry, later + kTick);
  EXPECT_EQ(wheel_.Insert(entry, later + kTick, later), later + kTick);
  EXPECT_EQ(wheel_.NextWake(), later + kTick);
  EXPECT_EQ(wheel_.Due(later), kNoSlabId);
  EXPECT_EQ(wheel_.Due(later + kTick), entry);
}

TEST_F(TimingWheelTest, TimeThatGoesBackChangesNothing) {
  const SlabId entry = Insert(5 * kTick);
  EXPECT_EQ(wheel_.Due(At(4 * kTick)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(kTick)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(5 * kTick)), entry);
}

TEST_F(TimingWheelTest, AfterARestartWhatWasDueWaitsAgain) {
  const SlabId entry = Insert(5 * kTick);
  EXPECT_EQ(wheel_.Due(At(6 * kTick)), entry);
  wheel_.Restart(At(2 * kTick));
  EXPECT_EQ(wheel_.KnownDue(), kNoSlabId);
  EXPECT_EQ(wheel_.DueAt(entry), At(5 * kTick));
  EXPECT_EQ(wheel_.Due(At(5 * kTick) - absl::Nanoseconds(1)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(5 * kTick)), entry);
  wheel_.Restart(At(9 * kTick));
  EXPECT_EQ(wheel_.KnownDue(), entry);
}

TEST_F(TimingWheelTest, ARestartKeepsTheTicks) {
  const SlabId entry = Insert(5 * kTick);
  for (const absl::Duration now : {7 * kTick / 2, -7 * kTick / 2}) {
    wheel_.Restart(At(now));
    EXPECT_EQ(wheel_.DueAt(entry), At(5 * kTick));
    const absl::Time due_at = At(now) + kTick;
    wheel_.Reserve(9, due_at);
    wheel_.Insert(9, due_at, At(now));
    EXPECT_EQ(wheel_.DueAt(9), due_at + kTick / 2);
    wheel_.Remove(9);
  }
}

TEST_F(TimingWheelTest, AfterARestartEachEntryIsDueAtItsTick) {
  for (const absl::Duration now : {-1000 * kTick, 30 * kTick, -kTick / 2}) {
    for (int tick = 0; tick < 200; ++tick) Insert(tick * kTick);
    wheel_.Restart(At(now));
    EXPECT_EQ(wheel_.Due(At(now)) == kNoSlabId, now < absl::ZeroDuration());
    absl::Time last = At(now);
    while (wheel_.size() > 0) {
      last = std::max(last, wheel_.NextWake());
      while (true) {
        const SlabId due = wheel_.Due(last);
        if (due == kNoSlabId) break;
        EXPECT_EQ(std::max(wheel_.DueAt(due), At(now)), last);
        wheel_.Remove(due);
      }
    }
  }
}

TEST_F(TimingWheelTest, AfterARestartWhatIsDueForLongerComesFirst) {
  for (int tick : {30, 3, 20, 17}) Insert(tick * kTick);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), 1u);
  wheel_.Restart(At(25 * kTick));
  for (SlabId expected : {1, 3, 2}) {
    EXPECT_EQ(wheel_.Due(At(25 * kTick)), expected);
    wheel_.Remove(expected);
  }
  EXPECT_EQ(wheel_.Due(At(25 * kTick)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(30 * kTick)), 0u);
}

TEST_F(TimingWheelTest, AfterARestartTheTimeCanBeAnywhere) {
  constexpr absl::Duration kThousandYears = absl::Hours(24 * 365 * 1000);
  Insert(absl::InfiniteDuration());
  for (const absl::Time now :
       {At(kThousandYears), At(-kThousandYears),
        FiniteTime(absl::InfinitePast()), At(absl::ZeroDuration())}) {
    wheel_.Restart(now);
    EXPECT_EQ(wheel_.Due(now), kNoSlabId);
    const absl::Time due_at = now + kTick;
    wheel_.Reserve(1, due_at);
    wheel_.Insert(1, due_at, now);
    EXPECT_EQ(wheel_.Due(due_at - absl::Nanoseconds(1)), kNoSlabId);
    EXPECT_EQ(wheel_.Due(due_at + kTick), 1u);
    wheel_.Remove(1);
  }
}

TEST_F(TimingWheelTest, ARestartMakesTheRingsThatItsEntriesNeed) {
  const SlabId entry = Insert(2 * kTick);
  wheel_.Restart(At(-1000000 * kTick));
  ExpectFewMovesUntil(At(2 * kTick));
  EXPECT_EQ(wheel_.Due(At(2 * kTick)), entry);
}

TEST_F(TimingWheelTest, AfterARestartReserveMakesTheRings) {
  wheel_.Restart(At(-1000000 * kTick));
  wheel_.Reserve(0, At(2 * kTick));
  wheel_.Insert(0, At(2 * kTick), At(-1000000 * kTick));
  ExpectFewMovesUntil(At(2 * kTick));
  EXPECT_EQ(wheel_.Due(At(2 * kTick)), 0u);
}

TEST_F(TimingWheelTest, ARestartWithoutMemoryLosesNothing) {
  const SlabId near = Insert(3 * kTick);
  const SlabId far = Insert(100 * kTick);
  CountedHeap::exhausted = true;
  wheel_.Restart(At(-1000 * kTick));
  CountedHeap::exhausted = false;
  for (const auto& [entry, tick] : {std::pair{near, 3}, std::pair{far, 100}}) {
    EXPECT_EQ(wheel_.Due(At(tick * kTick) - absl::Nanoseconds(1)), kNoSlabId);
    EXPECT_EQ(wheel_.Due(At(tick * kTick)), entry);
    wheel_.Remove(entry);
  }
}

TEST_F(TimingWheelTest, WithoutRoomForItAnEntryIsMovedOnUntilItIsDue) {
  constexpr SlabId entry = 0;
  wheel_.Reserve(entry, absl::UnixEpoch());
  EXPECT_EQ(wheel_.Insert(entry, At(100 * kTick), absl::UnixEpoch()),
            At(3 * kTick));
  EXPECT_EQ(wheel_.DueAt(entry), At(100 * kTick));
  int moves = 0;
  for (; wheel_.NextWake() < At(99 * kTick); ++moves) {
    ASSERT_EQ(wheel_.Due(wheel_.NextWake()), kNoSlabId);
  }
  EXPECT_EQ(moves, 32);
  EXPECT_EQ(wheel_.Due(At(100 * kTick) - absl::Nanoseconds(1)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(100 * kTick)), entry);
}

TEST_F(TimingWheelTest, ClearRemovesAllAndTheWheelCanBeUsedAgain) {
  for (int tick : {0, 1, 5, 17, 65}) Insert(tick * kTick);
  Insert(absl::InfiniteDuration());
  wheel_.Clear();
  EXPECT_EQ(wheel_.size(), 0u);
  EXPECT_EQ(wheel_.NextWake(), absl::InfiniteFuture());
  EXPECT_EQ(wheel_.Due(At(100 * kTick)), kNoSlabId);
  const SlabId entry = Insert(117 * kTick);
  // The wheel has the rings that the entry needs; it does not move each turn.
  EXPECT_GT(wheel_.NextWake(), At(103 * kTick));
  EXPECT_EQ(wheel_.Due(At(116 * kTick)), kNoSlabId);
  EXPECT_EQ(wheel_.Due(At(117 * kTick)), entry);
}

// An insertion that moved all entries would make its caller wait. It would have
// to allocate a large block.
TEST_F(TimingWheelTest, GrowingMovesFewEntries) {
  wheel_.Reserve(0, At(100 * kTick));  // makes the rings
  CountedHeap::largest_block = 0;
  for (int i = 0; i < 100000; ++i) Insert(i % 100 * kTick);
  EXPECT_LE(CountedHeap::largest_block, 64 << 10);
}

TEST_F(TimingWheelTest, EntriesOfATickComeInTheOrderOfTheirInsertion) {
  for (int i = 0; i < 50; ++i) Insert(2 * kTick);
  for (SlabId id : {0, 20, 49}) wheel_.Remove(id);
  SlabId expected = 1;
  while (wheel_.size() > 0) {
    const SlabId due = wheel_.Due(At(2 * kTick));
    ASSERT_EQ(due, expected);
    wheel_.Remove(due);
    expected += expected == 19 ? 2 : 1;
  }
  EXPECT_EQ(expected, 49u);
}

TEST_F(TimingWheelTest, OnceItIsEmptyTheMemoryGoesBack) {
  wheel_.Reserve(0, At(100 * kTick));  // makes rings, which are kept
  const int64_t before = CountedHeap::bytes_in_use;
  constexpr int kEntries = 5000;
  for (int i = 0; i < kEntries; ++i) Insert(i % 100 * kTick);
  EXPECT_GT(CountedHeap::bytes_in_use - before, kEntries * 20);
  for (SlabId id = 0; id < kEntries; ++id) wheel_.Remove(id);
  EXPECT_LE(CountedHeap::bytes_in_use, before);
  const SlabId entry = Insert(kTick);
  EXPECT_EQ(wheel_.Due(At(kTick)), entry);
}

TEST_F(TimingWheelTest, ShrinkFreesTheMemoryOfRemovedEntries) {
  wheel_.Reserve(0, At(100 * kTick));  // makes rings, which are kept
  const int64_t before = CountedHeap::bytes_in_use;
  constexpr int kEntries = 100000;
  for (int i = 0; i < kEntries; ++i) Insert(i % 100 * kTick);
  EXPECT_GT(CountedHeap::bytes_in_use - before, kEntries * 20);
  for (SlabId id = 10; id < kEntries; ++id) wheel_.Remove(id);
  for (int i = 0; i < 3; ++i) wheel_.Shrink(10);
  EXPECT_LE(CountedHeap::bytes_in_use - before, kKeptBytes);
  for (SlabId id = 0; id < 10; ++id) {
    EXPECT_EQ(wheel_.DueAt(id), At(id * kTick));
  }
}

// The first of a slot, one in between, the last one, and one that is alone. The
// entries are due, will be due, or never will.
TEST(TimingWheelRenumberTest, ARenumberedEntryKeepsItsPlace) {
  for (const absl::Time due_at :
       {absl::UnixEpoch(), At(3 * kTick), absl::InfiniteFuture()}) {
    for (const SlabId renumbered : {11, 13, 15}) {
      TimingWheel wheel(absl::UnixEpoch(), kTick, /*slots=*/4);
      const auto insert = [&](SlabId id) {
        wheel.Reserve(id, due_at);
        wheel.Insert(id, due_at, absl::UnixEpoch());
      };
      for (SlabId id = 11; id <= 15; ++id) insert(id);
      wheel.Renumber(renumbered, 2);
      EXPECT_EQ(wheel.size(), 5u);
      EXPECT_EQ(wheel.DueAt(2), due_at);
      for (SlabId id = 11; id <= 15; ++id) {
        const SlabId expected = id == renumbered ? 2 : id;
        if (due_at < absl::InfiniteFuture()) {
          EXPECT_EQ(wheel.Due(due_at), expected);
        }
        wheel.Remove(expected);
      }
      insert(5);
      wheel.Renumber(5, 4);
      EXPECT_EQ(wheel.DueAt(4), due_at);
      wheel.Remove(4);
      EXPECT_EQ(wheel.NextWake(), absl::InfiniteFuture());
    }
  }
}

TEST_F(TimingWheelTest, WhatIsDueForLongerComesFirst) {
  for (int tick : {3, 1, 2}) Insert(tick * kTick);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), 1u);
  Insert(-kTick);
  wheel_.Remove(1);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), 2u);
  wheel_.Remove(2);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), 0u);
  wheel_.Remove(0);
  EXPECT_EQ(wheel_.Due(At(3 * kTick)), 3u);
}

}  // namespace
}  // namespace internal::timing_wheel_test
}  // namespace workqueue
