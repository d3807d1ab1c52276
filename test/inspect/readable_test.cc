// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/readable.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::readable_test {
namespace {

TEST(ReadableTest, ADurationHasThePrecisionThatAPersonNeeds) {
  EXPECT_EQ(ReadableDuration(absl::InfiniteDuration()), "inf");
  EXPECT_EQ(ReadableDuration(-absl::Seconds(1)), "0s");
  EXPECT_EQ(ReadableDuration(absl::ZeroDuration()), "0s");
  EXPECT_EQ(ReadableDuration(absl::Microseconds(20)), "<1ms");
  EXPECT_EQ(ReadableDuration(absl::Microseconds(3999)), "3ms");
  EXPECT_EQ(ReadableDuration(absl::Milliseconds(1599)), "1.5s");
  EXPECT_EQ(ReadableDuration(absl::Milliseconds(42900)), "42s");
  EXPECT_EQ(ReadableDuration(absl::Seconds(310)), "5m10s");
  EXPECT_EQ(ReadableDuration(absl::Minutes(200) + absl::Seconds(5)), "3h20m");
  EXPECT_EQ(ReadableDuration(absl::Hours(48)), "2d");
  EXPECT_EQ(ReadableDuration(absl::Hours(12 * 24 + 4)), "12d4h");
  EXPECT_EQ(ReadableDuration(absl::Hours(400 * 24 + 4)), "400d");
}

TEST(ReadableTest, ATimeOfAnotherDayHasItsDay) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(25);
  EXPECT_EQ(ReadableTime(now - absl::Milliseconds(1500), now), "00:59:58 UTC");
  EXPECT_EQ(ReadableTime(now + absl::Minutes(5), now), "01:05:00 UTC");
  EXPECT_EQ(ReadableTime(now - absl::Hours(2), now), "1970-01-01 23:00:00 UTC");
  EXPECT_EQ(ReadableTime(now + absl::Hours(24), now),
            "1970-01-03 01:00:00 UTC");
  EXPECT_EQ(ReadableTime(absl::InfinitePast(), now), "infinite-past");
}

TEST(ReadableTest, ANumberHasCommas) {
  EXPECT_EQ(ReadableNumber(0), "0");
  EXPECT_EQ(ReadableNumber(999), "999");
  EXPECT_EQ(ReadableNumber(1000), "1,000");
  EXPECT_EQ(ReadableNumber(1234567), "1,234,567");
  EXPECT_EQ(ReadableCount(1, "item"), "1 item");
  EXPECT_EQ(ReadableCount(1000, "item"), "1,000 items");
}

}  // namespace
}  // namespace internal::readable_test
}  // namespace workqueue
