// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/with_jitter_rate_limiter.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/jitter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"

namespace workqueue::with_jitter_rate_limiter_test {
namespace {

using Limiter = WithJitterRateLimiter<int>;

std::unique_ptr<RateLimiter<int>> Exponential() {
  return ItemExponentialFailureRateLimiter<int>::Create(absl::Seconds(1),
                                                        absl::Hours(1))
      .value();
}

std::shared_ptr<Jitter> JitterOf(JitterOptions options) {
  options.seed = 1;
  return Jitter::Create(options).value();
}

TEST(WithJitterRateLimiterTest, VariesTheDelays) {
  auto limiter =
      Limiter::Create(Exponential(), JitterOf(JitterOptions::Equal())).value();
  const auto factors = JitterOf(JitterOptions::Equal());
  for (int failures = 0; failures < 12; ++failures) {
    EXPECT_EQ(limiter->When(1), factors->Vary(absl::Seconds(1 << failures)));
  }
}

TEST(WithJitterRateLimiterTest, TheOtherLimiterCounts) {
  auto limiter =
      Limiter::Create(Exponential(), JitterOf(JitterOptions::Full())).value();
  for (int i = 0; i < 3; ++i) EXPECT_LT(limiter->When(1), absl::Seconds(4));
  limiter->When(2);
  EXPECT_EQ(limiter->NumRequeues(1), 3);
  EXPECT_EQ(limiter->NumTracked(), 2u);
  limiter->Forget(1);
  EXPECT_EQ(limiter->NumRequeues(1), 0);
  EXPECT_EQ(limiter->NumTracked(), 1u);
}

TEST(WithJitterRateLimiterTest, KeepsToAMaximumIfWrapped) {
  auto limiter = WithMaxWaitRateLimiter<int>::Create(
                     Limiter::Create(Exponential(), JitterOf({2, 3})).value(),
                     absl::Seconds(10))
                     .value();
  EXPECT_GE(limiter->When(1), absl::Seconds(2));
  EXPECT_GE(limiter->When(1), absl::Seconds(4));
  EXPECT_GE(limiter->When(1), absl::Seconds(8));
  EXPECT_EQ(limiter->When(1), absl::Seconds(10));
}

TEST(WithJitterRateLimiterTest, TheMaximumIsWhatTheLargestFactorReaches) {
  const auto maximum = [](JitterOptions options) {
    return Limiter::Create(Exponential(), JitterOf(options))
        .value()
        ->MaxDelay();
  };
  EXPECT_EQ(maximum(JitterOptions::Full()), absl::Hours(1));
  EXPECT_EQ(maximum(JitterOptions::Equal()), absl::Hours(1));
  EXPECT_EQ(maximum({1, 1.5}), absl::Minutes(90));
  EXPECT_EQ(maximum({0, 0}), absl::ZeroDuration());
  auto endless =
      Limiter::Create(BucketRateLimiter<int>::Create(
                          TokenBucket::Create(/*rate=*/1, /*burst=*/1).value())
                          .value(),
                      JitterOf(JitterOptions::Full()))
          .value();
  EXPECT_EQ(endless->MaxDelay(), absl::InfiniteDuration());
}

TEST(WithJitterRateLimiterTest, LimitersMayShareAJitter) {
  const auto jitter = JitterOf(JitterOptions::Full());
  auto a = Limiter::Create(Exponential(), jitter).value();
  auto b = Limiter::Create(Exponential(), jitter).value();
  const auto factors = JitterOf(JitterOptions::Full());
  EXPECT_EQ(a->When(1), factors->Vary(absl::Seconds(1)));
  EXPECT_EQ(b->When(1), factors->Vary(absl::Seconds(1)));
}

TEST(WithJitterRateLimiterTest, RejectsBadArguments) {
  EXPECT_THAT(Limiter::Create(nullptr, JitterOf({})).status(),
              IsInvalidArgument("limiter", "null"));
  EXPECT_THAT(Limiter::Create(Exponential(), nullptr).status(),
              IsInvalidArgument("jitter", "null"));
}

}  // namespace
}  // namespace workqueue::with_jitter_rate_limiter_test
