// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/bucket_rate_limiter.h"

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/jitter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_jitter_rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::bucket_rate_limiter_test {
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
  EXPECT_EQ(limiter->When("d"), absl::Milliseconds(650));
  clock.Step(absl::Hours(1));
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(250));
}

TEST(BucketRateLimiterTest, CountsNoFailures) {
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  limiter->When("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  limiter->Forget("a");
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
}

TEST(BucketRateLimiterTest, AnItemThatWaitsTakesNoOtherToken) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(1, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  limiter->When("a");
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
  limiter->Forget("a");
  clock.Step(absl::Milliseconds(400));
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(600));
  EXPECT_EQ(limiter->WhenUpTo("a", absl::Milliseconds(1)),
            absl::Milliseconds(1));
  EXPECT_NEAR(bucket->Tokens(), -0.6, 1e-9);
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(1600));
}

TEST(BucketRateLimiterTest, AnItemTakesAnotherTokenWhenItsTokenHasCome) {
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  limiter->When("a");
  limiter->When("a");
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
}

// controller-runtime#1594: the gaps grew although the rate is constant.
TEST(BucketRateLimiterTest, AnItemThatIsAddedTooOftenIsHandedOutAtTheRate) {
  FakeClock clock;
  RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  options.rate_limiter =
      Limiter::Create(TokenBucket::Create(5, 1, &clock).value()).value();
  RateLimitingQueue<std::string> queue(std::move(options));
  int handed_out = 0;
  for (int i = 0; i < 6000; ++i) {  // for ten minutes
    queue.AddRateLimited("a");
    clock.Step(absl::Milliseconds(100));
    if (queue.Len() == 0) continue;
    queue.Done(*queue.Get());
    ++handed_out;
  }
  EXPECT_NEAR(handed_out, 3000, 2);
}

// The example of `WithJitterRateLimiter`. A jitter around all of it would let
// items come before their tokens.
std::unique_ptr<RateLimiter<int>> Varied(Clock* clock) {
  JitterOptions options = JitterOptions::Full();
  options.seed = 1;
  auto varied = WithJitterRateLimiter<int>::Create(
      DefaultItemBasedRateLimiter<int>(), Jitter::Create(options).value());
  auto bucket = TokenBucket::Create(/*rate=*/10, /*burst=*/100, clock);
  auto all = BucketRateLimiter<int>::Create(*std::move(bucket));
  return MaxOfRateLimiter<int>::Create(*std::move(varied), *std::move(all))
      .value();
}

TEST(BucketRateLimiterTest, ItemsWithJitterThatAlwaysFailKeepToTheRate) {
  FakeClock clock;
  RateLimitingQueueOptions<int> options;
  options.clock = &clock;
  options.rate_limiter = Varied(&clock);
  RateLimitingQueue<int> queue(std::move(options));
  for (int i = 0; i < 1000; ++i) queue.AddRateLimited(i);
  int handed_out = 0;
  for (int i = 0; i < 600; ++i) {  // for a minute
    clock.Step(absl::Milliseconds(100));
    for (size_t left = queue.Len(); left > 0; --left) {
      const int item = *queue.Get();
      queue.AddRateLimited(item);
      queue.Done(item);
      ++handed_out;
    }
  }
  EXPECT_NEAR(handed_out, 100 + 10 * 60, 2);
}

TEST(BucketRateLimiterTest, TakesNoTokenThatComesTooLate) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(1, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  EXPECT_EQ(limiter->WhenUpTo("a", absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(limiter->WhenUpTo("b", absl::Seconds(1)), absl::Seconds(1));
  EXPECT_EQ(limiter->WhenUpTo("c", absl::Seconds(1)), absl::Seconds(1));
  EXPECT_EQ(bucket->Tokens(), -1);
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
  EXPECT_EQ(other->When(2), absl::Seconds(3));
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

TEST(BucketRateLimiterTest, AnItemThatWaitsProfitsFromAHigherLimit) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(0.001, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
  EXPECT_EQ(limiter->When("b"), absl::Seconds(1000));
  EXPECT_EQ(limiter->When("c"), absl::Seconds(2000));
  ASSERT_TRUE(bucket->SetLimit(10).ok());
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(200));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(100));
  EXPECT_EQ(bucket->Tokens(), -2);  // none but those of the first calls
  clock.Step(absl::Milliseconds(150));
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(50));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(150));  // for another one
  EXPECT_NEAR(bucket->Tokens(), -1.5, 1e-9);
  ASSERT_TRUE(bucket->SetLimit(std::numeric_limits<double>::infinity()).ok());
  EXPECT_EQ(limiter->When("b"), absl::ZeroDuration());
}

TEST(BucketRateLimiterTest, TokensThatHaveComeSinceALimitWasRaisedAreNoBurst) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(0.001, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  for (const char* item : {"a", "b", "c", "d"}) limiter->When(item);
  ASSERT_TRUE(bucket->SetLimit(10).ok());
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(limiter->When("b"), absl::ZeroDuration());
  EXPECT_EQ(bucket->Tokens(), 0);
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(100));
  EXPECT_EQ(limiter->When("d"), absl::Milliseconds(200));
}

TEST(BucketRateLimiterTest, AnItemThatWaitsDoesNotSufferFromALowerLimit) {
  FakeClock clock;
  std::shared_ptr<TokenBucket> bucket =
      TokenBucket::Create(1, 1, &clock).value();
  auto limiter = Limiter::Create(bucket).value();
  limiter->When("a");
  EXPECT_EQ(limiter->When("b"), absl::Seconds(1));
  ASSERT_TRUE(bucket->SetLimit(0).ok());
  EXPECT_EQ(limiter->When("b"), absl::Seconds(1));
}

TEST(BucketRateLimiterTest, AnItemWaitsForItsTokenAlsoIfTheClockGoesBack) {
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  limiter->When("a");
  EXPECT_EQ(limiter->When("b"), absl::Seconds(1));
  clock.SetTime(clock.TimeNow() - absl::Hours(1));
  EXPECT_EQ(limiter->When("b"), absl::Seconds(1));
  EXPECT_EQ(limiter->When("c"), absl::Seconds(2));
}

// Each item of a queue waits five seconds, however many wait for a token.
TEST(BucketRateLimiterTest, ADelayOfAnAddTakesNoLaterToken) {
  AddOptions shorter = AddOptions::RateLimited();
  shorter.after = absl::Seconds(5);
  for (const AddOptions& add :
       {shorter, AddOptions::RateLimited(absl::Seconds(5))}) {
    FakeClock clock;
    std::shared_ptr<TokenBucket> bucket =
        TokenBucket::Create(1, 1, &clock).value();
    RateLimitingQueueOptions<std::string> options;
    options.rate_limiter = Limiter::Create(bucket).value();
    options.clock = &clock;
    RateLimitingQueue<std::string> queue(std::move(options));
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(queue.AddWithOptions(add, {absl::StrCat(i)}));
    }
    EXPECT_EQ(bucket->Tokens(), -5);
    clock.Step(absl::Seconds(5));
    EXPECT_EQ(queue.Len(), 100u);
  }
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

TEST(BucketRateLimiterTest, ThreadsGetDifferentTokens) {
  constexpr int kThreads = 4;
  constexpr int kTokens = 250;
  FakeClock clock;
  auto limiter =
      Limiter::Create(TokenBucket::Create(1, 1, &clock).value()).value();
  std::vector<std::atomic<int>> granted(kThreads * kTokens);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter, &granted, t] {
      for (int i = 0; i < kTokens; ++i) {
        const std::string item = absl::StrCat(t, "/", i);
        ++granted[absl::ToInt64Seconds(limiter->When(item))];
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  for (const std::atomic<int>& n : granted) EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace workqueue::bucket_rate_limiter_test
