// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/internal/time_scale.h"

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/finite_time.h"

namespace workqueue {
namespace internal::time_scale_test {
namespace {

constexpr absl::Duration kNs = absl::Nanoseconds(1);

TEST(TimeScaleTest, WholeNanosecondsAreExact) {
  const absl::Time start = absl::UnixEpoch() + kNs / 4;
  const TimeScale scale(start);
  for (const int64_t ns :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 40,
        -(int64_t{1} << 62), int64_t{1} << 62}) {
    const absl::Time time = start + absl::Nanoseconds(ns);
    EXPECT_EQ(scale.Floor(time), ns);
    EXPECT_EQ(scale.Ceil(time), ns);
    EXPECT_EQ(scale.TimeAt(ns), time);
  }
}

TEST(TimeScaleTest, FractionsAreRounded) {
  const TimeScale scale(absl::UnixEpoch());
  for (const int64_t ns : {-2, -1, 0, 1, 2}) {
    for (const int quarters : {1, 2, 3}) {
      const absl::Time time = absl::UnixEpoch() + ns * kNs + quarters * kNs / 4;
      EXPECT_EQ(scale.Floor(time), ns);
      EXPECT_EQ(scale.Ceil(time), ns + 1);
    }
  }
}

TEST(TimeScaleTest, TheEndsOfTime) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const TimeScale scale(absl::UnixEpoch());
  const absl::Duration beyond =
      2 * absl::Nanoseconds(TimeScale::kNever) + kNs / 4;
  EXPECT_EQ(scale.Ceil(absl::InfiniteFuture()), TimeScale::kNever);
  EXPECT_LT(scale.Floor(absl::InfiniteFuture()), TimeScale::kNever);
  EXPECT_EQ(scale.Ceil(absl::UnixEpoch() + beyond), TimeScale::kNever);
  EXPECT_LT(scale.Floor(absl::UnixEpoch() + beyond), TimeScale::kNever);
  for (const absl::Time time :
       {absl::InfinitePast(), absl::UnixEpoch() - beyond}) {
    EXPECT_EQ(scale.Floor(time), kMin);
    EXPECT_EQ(scale.Ceil(time), kMin);
  }
  EXPECT_EQ(scale.TimeAt(TimeScale::kNever), absl::InfiniteFuture());
  EXPECT_EQ(scale.TimeAt(kMin), absl::InfinitePast());
}

TEST(TimeScaleTest, AnotherStartIsAWholeNumberOfUnitsAway) {
  const absl::Time start = absl::UnixEpoch() + kNs / 4;
  const TimeScale scale(start);
  constexpr absl::Duration kUnit = absl::Milliseconds(10);
  for (const int64_t units : {int64_t{0}, int64_t{1}, int64_t{-1},
                              int64_t{1} << 50, -(int64_t{1} << 50)}) {
    for (const absl::Duration rest :
         {absl::ZeroDuration(), kNs / 4, kUnit - kNs / 4}) {
      const absl::Time expected = start + units * kUnit;
      EXPECT_EQ(scale.StartedAt(expected + rest, kUnit).TimeAt(0), expected);
    }
  }
}

TEST(TimeScaleTest, CanStartAtTheEndsOfTime) {
  const absl::Time first = FiniteTime(absl::InfinitePast());
  const absl::Time last = FiniteTime(absl::InfiniteFuture());
  constexpr absl::Duration kUnit = absl::Hours(24);
  EXPECT_EQ(TimeScale(first).StartedAt(last, kUnit).TimeAt(0), last);
  EXPECT_EQ(TimeScale(last).StartedAt(first, kUnit).TimeAt(0), first);
  EXPECT_LE(
      last - TimeScale(absl::UnixEpoch()).StartedAt(last, kUnit).TimeAt(0),
      kUnit);
  // The multiple of the unit before it is not finite.
  EXPECT_EQ(TimeScale(absl::UnixEpoch()).StartedAt(first, kUnit).TimeAt(0),
            first);
}

}  // namespace
}  // namespace internal::time_scale_test
}  // namespace workqueue
