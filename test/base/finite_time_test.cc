// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/finite_time.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::finite_time_test {
namespace {

TEST(FiniteTimeTest, AFiniteTimeIsUnchanged) {
  for (const absl::Time time :
       {absl::UnixEpoch(), absl::UnixEpoch() - absl::Nanoseconds(0.25),
        absl::FromUnixSeconds(1700000000)}) {
    EXPECT_EQ(FiniteTime(time), time);
  }
}

TEST(FiniteTimeTest, AnInfiniteTimeBecomesTheFirstOrTheLast) {
  const absl::Duration least = absl::Nanoseconds(0.25);
  const absl::Time first = FiniteTime(absl::InfinitePast());
  EXPECT_GT(first, absl::InfinitePast());
  EXPECT_EQ(first - least, absl::InfinitePast());
  const absl::Time last = FiniteTime(absl::InfiniteFuture());
  EXPECT_LT(last, absl::InfiniteFuture());
  EXPECT_EQ(last + least, absl::InfiniteFuture());
  EXPECT_EQ(FiniteTime(first), first);
  EXPECT_EQ(FiniteTime(last), last);
}

}  // namespace
}  // namespace internal::finite_time_test
}  // namespace workqueue
