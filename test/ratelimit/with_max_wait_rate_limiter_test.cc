// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/with_max_wait_rate_limiter.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/jitter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_jitter_rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/testing/thread.h"

namespace workqueue::with_max_wait_rate_limiter_test {
namespace {

using Limiter = WithMaxWaitRateLimiter<int>;

// A limiter whose delays are short at first, for every item, and then as given.
class Steps final : public RateLimiter<int> {
 public:
  Steps(int short_delays, absl::Duration then)
      : short_delays_(short_delays), then_(then) {}

  absl::Duration When(const int&) override {
    return short_delays_-- > 0 ? absl::Milliseconds(6) : then_;
  }
  void Forget(const int&) override {}
  int NumRequeues(const int&) override { return 0; }

 private:
  int short_delays_;
  const absl::Duration then_;
};

TEST(WithMaxWaitRateLimiterTest, ShortensLongDelays) {
  auto limiter = Limiter::Create(std::make_unique<Steps>(50, absl::Minutes(20)),
                                 absl::Minutes(8))
                     .value();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(limiter->When(i), absl::Milliseconds(6));
  }
  for (int i = 50; i < 100; ++i) EXPECT_EQ(limiter->When(i), absl::Minutes(8));
}

TEST(WithMaxWaitRateLimiterTest, ShortensAnInfiniteDelay) {
  auto limiter =
      Limiter::Create(std::make_unique<Steps>(0, absl::InfiniteDuration()),
                      absl::Minutes(8))
          .value();
  EXPECT_EQ(limiter->When(1), absl::Minutes(8));
}

TEST(WithMaxWaitRateLimiterTest, PassesNoNegativeDelayOn) {
  auto limiter = Limiter::Create(std::make_unique<Steps>(0, absl::Seconds(-1)),
                                 absl::Minutes(8))
                     .value();
  EXPECT_EQ(limiter->When(1), absl::ZeroDuration());
}

TEST(WithMaxWaitRateLimiterTest, MaximumOfZeroIsNoDelay) {
  auto limiter = Limiter::Create(std::make_unique<Steps>(0, absl::Seconds(1)),
                                 absl::ZeroDuration())
                     .value();
  EXPECT_EQ(limiter->When(1), absl::ZeroDuration());
}

std::unique_ptr<RateLimiter<int>> Exponential() {
  return ItemExponentialFailureRateLimiter<int>::Create(absl::Seconds(1),
                                                        absl::Hours(1))
      .value();
}

TEST(WithMaxWaitRateLimiterTest, TheOtherLimiterCounts) {
  auto limiter = Limiter::Create(Exponential(), absl::Seconds(3)).value();
  EXPECT_EQ(limiter->When(1), absl::Seconds(1));
  EXPECT_EQ(limiter->When(1), absl::Seconds(2));
  EXPECT_EQ(limiter->When(1), absl::Seconds(3));
  EXPECT_EQ(limiter->When(1), absl::Seconds(3));
  EXPECT_EQ(limiter->NumRequeues(1), 4);
  limiter->Forget(1);
  EXPECT_EQ(limiter->NumRequeues(1), 0);
  EXPECT_EQ(limiter->When(1), absl::Seconds(1));
}

TEST(WithMaxWaitRateLimiterTest, TheOtherLimiterTracks) {
  auto tracking =
      Limiter::Create(ItemExponentialFailureRateLimiter<int>::Create(
                          absl::Milliseconds(4), absl::Seconds(100))
                          .value(),
                      absl::Seconds(1))
          .value();
  tracking->When(1);
  tracking->When(2);
  EXPECT_EQ(tracking->NumTracked(), 2u);
  auto not_tracking =
      Limiter::Create(std::make_unique<Steps>(1, absl::Seconds(1)),
                      absl::Seconds(1))
          .value();
  EXPECT_EQ(not_tracking->NumTracked(), std::nullopt);
}

TEST(WithMaxWaitRateLimiterTest, TheMaximumIsTheSmallerOne) {
  EXPECT_EQ(
      Limiter::Create(Exponential(), absl::Seconds(3)).value()->MaxDelay(),
      absl::Seconds(3));
  EXPECT_EQ(Limiter::Create(Exponential(), absl::Hours(2)).value()->MaxDelay(),
            absl::Hours(1));
  EXPECT_EQ(Limiter::Create(std::make_unique<Steps>(0, absl::Seconds(1)),
                            absl::Minutes(8))
                .value()
                ->MaxDelay(),
            absl::Minutes(8));
}

// Returns a limiter with a bucket under two others.
std::unique_ptr<RateLimiter<int>> OnBucket(std::shared_ptr<TokenBucket> bucket,
                                           absl::Duration max_delay) {
  std::shared_ptr<Jitter> jitter =
      Jitter::Create(JitterOptions::PlusMinus(0)).value();
  auto varied = WithJitterRateLimiter<int>::Create(
                    BucketRateLimiter<int>::Create(bucket).value(), jitter)
                    .value();
  return Limiter::Create(
             MaxOfRateLimiter<int>::Create(Exponential(), std::move(varied))
                 .value(),
             max_delay)
      .value();
}

TEST(WithMaxWaitRateLimiterTest, ShortenedDelaysTakeNoTokens) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(10, 100, &clock).value();
  auto limiter = OnBucket(bucket, absl::Minutes(1));
  for (int i = 0; i < 100000; ++i) limiter->When(i);  // an outage
  EXPECT_EQ(limiter->When(-1), absl::Minutes(1));
  EXPECT_EQ(bucket->Tokens(), -600);
  clock.Step(absl::Minutes(1));
  EXPECT_EQ(limiter->When(-2), absl::Seconds(1));  // the exponential delay
}

TEST(WithMaxWaitRateLimiterTest, RejectsBadArguments) {
  EXPECT_THAT(Limiter::Create(nullptr, absl::Seconds(1)).status(),
              IsInvalidArgument("limiter", "null"));
  EXPECT_THAT(Limiter::Create(Exponential(), absl::Seconds(-4)).status(),
              IsInvalidArgument("max_delay", "-4s"));
  EXPECT_THAT(Limiter::Create(Exponential(), absl::InfiniteDuration()).status(),
              IsInvalidArgument("max_delay", "inf"));
}

TEST(WithMaxWaitRateLimiterTest, IsAskedByManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kFailures = 500;
  auto limiter = Limiter::Create(Exponential(), absl::Seconds(3)).value();
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter] {
      for (int i = 0; i < kFailures; ++i) {
        EXPECT_LE(limiter->When(1), absl::Seconds(3));
        limiter->When(2);
        limiter->Forget(2);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(limiter->NumRequeues(1), kThreads * kFailures);
}

}  // namespace
}  // namespace workqueue::with_max_wait_rate_limiter_test
