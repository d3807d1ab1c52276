// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/wake_time.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::wake_time_test {
namespace {

absl::Time At(int seconds) { return absl::FromUnixSeconds(seconds); }

TEST(WakeTimeTest, ASleeperThatIsAwakeNeedsNoWakeUp) {
  WakeTime wake_time;
  EXPECT_FALSE(wake_time.IsAfter(absl::InfinitePast()));
  EXPECT_FALSE(wake_time.WakeBy(absl::InfinitePast()));
  EXPECT_FALSE(wake_time.WakeBy(At(1)));
}

TEST(WakeTimeTest, OnlyAnEarlierTimeWakes) {
  WakeTime wake_time;
  wake_time.Set(At(10));
  EXPECT_FALSE(wake_time.WakeBy(absl::InfiniteFuture()));
  EXPECT_FALSE(wake_time.WakeBy(At(10)));
  EXPECT_TRUE(wake_time.WakeBy(At(10) - absl::Nanoseconds(1)));
}

TEST(WakeTimeTest, WakesOnceForEachSleep) {
  WakeTime wake_time;
  for (int i = 0; i < 3; ++i) {
    wake_time.Set(At(10));
    EXPECT_TRUE(wake_time.WakeBy(At(9)));
    EXPECT_FALSE(wake_time.WakeBy(At(8)));
    EXPECT_FALSE(wake_time.WakeBy(absl::InfinitePast()));
  }
}

TEST(WakeTimeTest, IsAfterDoesNotCountAsAWakeUp) {
  WakeTime wake_time;
  wake_time.Set(At(10));
  EXPECT_FALSE(wake_time.IsAfter(At(10)));
  EXPECT_TRUE(wake_time.IsAfter(At(9)));
  EXPECT_TRUE(wake_time.WakeBy(At(9)));
  EXPECT_FALSE(wake_time.IsAfter(At(9)));
}

TEST(WakeTimeTest, AFalseWakeByLeavesTheWakeTime) {
  WakeTime wake_time;
  wake_time.Set(At(10));
  EXPECT_FALSE(wake_time.WakeBy(At(11)));
  EXPECT_TRUE(wake_time.WakeBy(At(9)));
}

TEST(WakeTimeTest, ClearedMeansAwake) {
  WakeTime wake_time;
  wake_time.Set(At(10));
  wake_time.Clear();
  EXPECT_FALSE(wake_time.WakeBy(At(1)));
}

TEST(WakeTimeTest, AnyTimeIsBeforeTheInfiniteFuture) {
  WakeTime wake_time;
  wake_time.Set(absl::InfiniteFuture());
  EXPECT_FALSE(wake_time.WakeBy(absl::InfiniteFuture()));
  EXPECT_TRUE(wake_time.WakeBy(At(1000000)));
}

TEST(WakeTimeTest, InfinitePastWakesASleeperInAnyCase) {
  WakeTime wake_time;
  wake_time.Set(At(-1000000));
  EXPECT_TRUE(wake_time.WakeBy(absl::InfinitePast()));
}

// The sleeper does not sleep, so it need not be woken.
TEST(WakeTimeTest, ASleepUntilTheInfinitePastIsNone) {
  WakeTime wake_time;
  wake_time.Set(absl::InfinitePast());
  EXPECT_FALSE(wake_time.WakeBy(absl::InfinitePast()));
}

}  // namespace
}  // namespace internal::wake_time_test
}  // namespace workqueue
