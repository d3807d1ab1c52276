// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/queue/compact_time.h"

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

absl::Time ThereAndBack(absl::Time time) { return CompactTime(time).Get(); }

TEST(CompactTimeTest, HasRoomForFewBytesAnywhere) {
  EXPECT_EQ(sizeof(CompactTime), 8u);
  EXPECT_EQ(alignof(CompactTime), 4u);
}

TEST(CompactTimeTest, KeepsNanoseconds) {
  for (int64_t ns : {int64_t{0}, int64_t{1}, int64_t{-1}, kMost, kLeast,
                     int64_t{1700000000123456789}}) {
    EXPECT_EQ(ThereAndBack(absl::FromUnixNanos(ns)), absl::FromUnixNanos(ns));
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

TEST(CompactTimeTest, EndsAfter292Years) {
  EXPECT_EQ(ThereAndBack(absl::InfiniteFuture()), absl::FromUnixNanos(kMost));
  EXPECT_EQ(ThereAndBack(absl::InfinitePast()), absl::FromUnixNanos(kLeast));
  EXPECT_EQ(ThereAndBack(absl::FromUnixNanos(kMost) + absl::Hours(1)),
            absl::FromUnixNanos(kMost));
}

}  // namespace
}  // namespace internal
}  // namespace workqueue
