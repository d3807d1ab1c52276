// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/compact_time.h"

#include <cstdint>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/finite_time.h"

namespace workqueue {
namespace internal::compact_time_test {
namespace {

// The last time that is stored in nanoseconds.
constexpr int64_t kLastNanos = (int64_t{1} << 62) - 1;

constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kUs = absl::Microseconds(1);

absl::Time ThereAndBack(absl::Time time) { return CompactTime(time).Get(); }

TEST(CompactTimeTest, HasRoomForFewBytesAnywhere) {
  EXPECT_EQ(sizeof(CompactTime), 8u);
  EXPECT_EQ(alignof(CompactTime), 4u);
}

TEST(CompactTimeTest, KeepsNanoseconds) {
  for (int64_t ns : {int64_t{0}, int64_t{1}, int64_t{-1}, kLastNanos,
                     -kLastNanos, int64_t{1700000000123456789}}) {
    EXPECT_EQ(ThereAndBack(absl::FromUnixNanos(ns)), absl::FromUnixNanos(ns));
    EXPECT_EQ(CompactTime::FromUnixNanos(ns).Get(), absl::FromUnixNanos(ns));
  }
  EXPECT_EQ(CompactTime().Get(), absl::UnixEpoch());
}

TEST(CompactTimeTest, RoundsDown) {
  const absl::Duration quarter = absl::Nanoseconds(1) / 4;
  EXPECT_EQ(ThereAndBack(absl::FromUnixNanos(7) + 3 * quarter),
            absl::FromUnixNanos(7));
  EXPECT_EQ(ThereAndBack(absl::FromUnixNanos(-7) + 3 * quarter),
            absl::FromUnixNanos(-7));
}

TEST(CompactTimeTest, KeepsMicrosecondsOfFarTimes) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  for (const absl::Time time :
       {absl::FromCivil(absl::CivilSecond(3000, 1, 2, 3, 4, 5), utc) + kUs,
        absl::FromCivil(absl::CivilSecond(1500, 1, 2, 3, 4, 5), utc) + kUs,
        absl::FromCivil(absl::CivilYear(140000), utc) + kUs,
        absl::FromCivil(absl::CivilYear(-140000), utc) + kUs}) {
    EXPECT_EQ(ThereAndBack(time), time);
    EXPECT_EQ(ThereAndBack(time + kUs - kNs), time);
  }
}

TEST(CompactTimeTest, WhereFarTimesBeginIsNoJump) {
  const absl::Time first_far = absl::FromUnixNanos(kLastNanos) + kNs;
  const absl::Time last_far = absl::FromUnixNanos(-kLastNanos) - kNs;
  for (const absl::Time far : {first_far, last_far}) {
    for (int i = -3; i <= 3; ++i) {
      const absl::Time time = far + i * kNs;
      EXPECT_LE(ThereAndBack(time), time);
      EXPECT_GT(ThereAndBack(time), time - kUs);
    }
  }
}

TEST(CompactTimeTest, EndsAfter146000Years) {
  for (const absl::Time end :
       {FiniteTime(absl::InfiniteFuture()), FiniteTime(absl::InfinitePast())}) {
    EXPECT_EQ(ThereAndBack(end), end);
  }
  EXPECT_EQ(ThereAndBack(
                absl::FromCivil(absl::CivilYear(150000), absl::UTCTimeZone())),
            FiniteTime(absl::InfiniteFuture()));
  EXPECT_EQ(ThereAndBack(
                absl::FromCivil(absl::CivilYear(-150000), absl::UTCTimeZone())),
            FiniteTime(absl::InfinitePast()));
}

}  // namespace
}  // namespace internal::compact_time_test
}  // namespace workqueue
