// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/internal/failure_counts.h"

namespace workqueue {
namespace internal::exponential_delay_test {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

TEST(ExponentialDelayTest, DoublesUpToTheMaximum) {
  const absl::Duration base = absl::Milliseconds(3);
  const absl::Duration max = absl::Milliseconds(40);
  EXPECT_EQ(ExponentialDelay(base, max, 0), absl::Milliseconds(3));
  EXPECT_EQ(ExponentialDelay(base, max, 1), absl::Milliseconds(6));
  EXPECT_EQ(ExponentialDelay(base, max, 2), absl::Milliseconds(12));
  EXPECT_EQ(ExponentialDelay(base, max, 3), absl::Milliseconds(24));
  EXPECT_EQ(ExponentialDelay(base, max, 4), max);
  EXPECT_EQ(ExponentialDelay(base, max, 5), max);
}

TEST(ExponentialDelayTest, IsExactToTheNanosecond) {
  const absl::Duration max = absl::Nanoseconds(kMaxInt64);
  for (int n = 0; n < 63; ++n) {
    EXPECT_EQ(ExponentialDelay(absl::Nanoseconds(1), max, n),
              absl::Nanoseconds(int64_t{1} << n))
        << n;
  }
  // A double cannot represent the difference.
  EXPECT_EQ(ExponentialDelay(absl::Nanoseconds((int64_t{1} << 60) + 1), max, 2),
            absl::Nanoseconds((int64_t{1} << 62) + 4));
}

TEST(ExponentialDelayTest, NeverOverflows) {
  for (const absl::Duration base :
       {absl::Nanoseconds(1), absl::Nanoseconds(3), absl::Milliseconds(5),
        absl::Hours(1), absl::Nanoseconds(kMaxInt64)}) {
    for (const absl::Duration max :
         {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Seconds(1000),
          absl::Nanoseconds(kMaxInt64)}) {
      absl::Duration last = absl::ZeroDuration();
      for (int n = 0; n < 200; ++n) {
        const absl::Duration delay = ExponentialDelay(base, max, n);
        EXPECT_GE(delay, last);
        EXPECT_LE(delay, max);
        last = delay;
      }
      EXPECT_EQ(last, max);
      for (const int n : {10000, 1 << 30, kMaxInt - 1, kMaxInt}) {
        EXPECT_EQ(ExponentialDelay(base, max, n), max) << n;
      }
    }
  }
}

TEST(ExponentialDelayTest, IsZeroForABaseOfZero) {
  for (const int n : {0, 1, 62, 63, 64, 2000, kMaxInt}) {
    EXPECT_EQ(ExponentialDelay(absl::ZeroDuration(), absl::Seconds(1), n),
              absl::ZeroDuration());
  }
}

}  // namespace
}  // namespace internal::exponential_delay_test
}  // namespace workqueue
