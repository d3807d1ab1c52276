// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/bucket_rate_limiter.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/clock/fake_clock.h"

namespace workqueue {
namespace {

using Limiter = BucketRateLimiter<std::string>;

TEST(BucketRateLimiterTest, DelaysAllItemsTogether) {
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(4, 2, &clock).value()).value();
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("b"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(250));
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(500));
  clock.Step(absl::Milliseconds(100));
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(650));
  clock.Step(absl::Hours(1));
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(250));
}

TEST(BucketRateLimiterTest, TracksNoItems) {
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  limiter->When("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  limiter->Forget("a");
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
}

TEST(BucketRateLimiterTest, HasNoMaximum) {
  auto limiter = Limiter::Create(TokenBucket::Create(1, 1).value()).value();
  EXPECT_EQ(limiter->MaxDelay(), absl::InfiniteDuration());
}

TEST(BucketRateLimiterTest, SeveralLimitersShareABucket) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(1, 1, &clock).value();
  auto one = Limiter::Create(bucket).value();
  auto other = BucketRateLimiter<int>::Create(bucket).value();
  EXPECT_EQ(one->When("a"), absl::ZeroDuration());
  EXPECT_EQ(other->When(1), absl::Seconds(1));
  EXPECT_EQ(one->When("a"), absl::Seconds(2));
  one.reset();
  EXPECT_EQ(other->When(1), absl::Seconds(3));
}

TEST(BucketRateLimiterTest, BucketMayBeAdjusted) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(1, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  ASSERT_TRUE(bucket->SetLimit(10).ok());
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(100));
}

TEST(BucketRateLimiterTest, DelayIsInfiniteWhenNoTokenWillCome) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(0, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::InfiniteDuration());
  EXPECT_EQ(bucket->Tokens(), 0);
}

TEST(BucketRateLimiterTest, RejectsNull) {
  EXPECT_THAT(Limiter::Create(nullptr).status(),
              IsInvalidArgument("bucket", "null"));
}

// An item that cannot be hashed, compared or copied.
struct Item {
  Item() = default;
  Item(const Item&) = delete;
};

TEST(BucketRateLimiterTest, RequiresNothingOfItems) {
  FakeClock clock;
  auto limiter =
      BucketRateLimiter<Item>::Create(TokenBucket::Create(1, 1, &clock).value())
          .value();
  EXPECT_EQ(limiter->When(Item()), absl::ZeroDuration());
}

TEST(BucketRateLimiterTest, ThreadsGetDifferentTokens) {
  constexpr int kThreads = 4;
  constexpr int kTokens = 250;
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  std::vector<std::atomic<int>> granted(kThreads * kTokens);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter, &granted] {
      for (int i = 0; i < kTokens; ++i) {
        ++granted[absl::ToInt64Seconds(limiter->When("a"))];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& n : granted) EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace workqueue
