// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/max_of_rate_limiter.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/testing/thread.h"

namespace workqueue::max_of_rate_limiter_test {
namespace {

using Limiter = MaxOfRateLimiter<std::string>;

// A limiter with given answers.
class Fixed final : public RateLimiter<std::string> {
 public:
  Fixed(absl::Duration delay, int requeues)
      : delay_(delay), requeues_(requeues) {}

  absl::Duration When(const std::string&) override { return delay_; }
  void Forget(const std::string&) override { requeues_ = 0; }
  int NumRequeues(const std::string&) override { return requeues_; }

 private:
  const absl::Duration delay_;
  int requeues_;
};

std::unique_ptr<ItemFastSlowRateLimiter<std::string>> FastSlow() {
  return ItemFastSlowRateLimiter<std::string>::Create(absl::Milliseconds(5),
                                                      absl::Seconds(3), 2)
      .value();
}

std::unique_ptr<ItemExponentialFailureRateLimiter<std::string>> Exponential() {
  return ItemExponentialFailureRateLimiter<std::string>::Create(
             absl::Milliseconds(4), absl::Seconds(100))
      .value();
}

TEST(MaxOfRateLimiterTest, TakesTheLongestDelay) {
  auto limiter = Limiter::Create(FastSlow(), Exponential()).value();
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(8));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(limiter->When("a"), absl::Seconds(3));  // up to 2048 ms
  }
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(4096));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(5));
}

TEST(MaxOfRateLimiterTest, TheMaximumIsTheLongest) {
  EXPECT_EQ(Limiter::Create(FastSlow(), Exponential()).value()->MaxDelay(),
            absl::Seconds(100));
  EXPECT_EQ(Limiter::Create(FastSlow()).value()->MaxDelay(), absl::Seconds(3));
  EXPECT_EQ(
      Limiter::Create(FastSlow(), std::make_unique<Fixed>(absl::Seconds(1), 2))
          .value()
          ->MaxDelay(),
      absl::InfiniteDuration());
}

TEST(MaxOfRateLimiterTest, AsksAllLimitersEachTime) {
  auto limiter = Limiter::Create(FastSlow(), Exponential()).value();
  limiter->When("a");
  limiter->When("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 2);
  EXPECT_EQ(limiter->NumRequeues("b"), 0);
  limiter->Forget("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(8));
}

TEST(MaxOfRateLimiterTest, TakesTheLargestCount) {
  auto limiter = Limiter::Create(std::make_unique<Fixed>(absl::Seconds(1), 2),
                                 std::make_unique<Fixed>(absl::Seconds(3), 7),
                                 std::make_unique<Fixed>(absl::Seconds(2), 5))
                     .value();
  EXPECT_EQ(limiter->When("a"), absl::Seconds(3));
  EXPECT_EQ(limiter->NumRequeues("a"), 7);
  limiter->Forget("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
}

TEST(MaxOfRateLimiterTest, TakesTheLargestNumberOfTrackedItems) {
  auto bounded = ItemExponentialFailureRateLimiter<std::string>::Create(
                     absl::Milliseconds(4), absl::Seconds(100),
                     /*max_tracked_items=*/1)
                     .value();
  auto limiter = Limiter::Create(std::move(bounded), FastSlow(),
                                 std::make_unique<Fixed>(absl::Seconds(1), 2))
                     .value();
  EXPECT_EQ(limiter->NumTracked(), 0u);
  for (const char* item : {"a", "b", "a"}) limiter->When(item);
  EXPECT_EQ(limiter->NumTracked(), 2u);
  limiter->Forget("a");
  EXPECT_EQ(limiter->NumTracked(), 1u);
}

TEST(MaxOfRateLimiterTest, TracksNothingIfNoLimiterKnowsWhatItTracks) {
  auto limiter =
      Limiter::Create(std::make_unique<Fixed>(absl::Seconds(1), 2)).value();
  EXPECT_EQ(limiter->NumTracked(), std::nullopt);
}

TEST(MaxOfRateLimiterTest, TakesAListOfLimiters) {
  std::vector<std::unique_ptr<RateLimiter<std::string>>> limiters;
  for (int i = 1; i <= 10; ++i) {
    limiters.push_back(std::make_unique<Fixed>(absl::Seconds(i), i));
  }
  auto limiter = Limiter::Create(std::move(limiters)).value();
  EXPECT_EQ(limiter->When("a"), absl::Seconds(10));
}

TEST(MaxOfRateLimiterTest, PassesNoNegativeDelayOn) {
  auto limiter =
      Limiter::Create(std::make_unique<Fixed>(absl::Seconds(-1), 0)).value();
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
}

TEST(MaxOfRateLimiterTest, PassesAnInfiniteDelayOn) {
  auto limiter =
      Limiter::Create(std::make_unique<Fixed>(absl::InfiniteDuration(), 0),
                      std::make_unique<Fixed>(absl::Seconds(1), 0))
          .value();
  EXPECT_EQ(limiter->When("a"), absl::InfiniteDuration());
}

TEST(MaxOfRateLimiterTest, EachLimiterEvictsByItsOwnBound) {
  auto limiter =
      Limiter::Create(ItemFastSlowRateLimiter<std::string>::Create(
                          absl::Milliseconds(5), absl::Seconds(3), 1,
                          /*max_tracked_items=*/1)
                          .value(),
                      ItemExponentialFailureRateLimiter<std::string>::Create(
                          absl::Milliseconds(4), absl::Seconds(100),
                          /*max_tracked_items=*/2)
                          .value())
          .value();
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->When("a"), absl::Seconds(3));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(5));
  // the second limiter's count
  EXPECT_EQ(limiter->NumRequeues("a"), 2);
  // the second limiter's delay
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(16));
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->NumRequeues("b"), 0);
  limiter->Forget("c");
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->When("b"), absl::Seconds(3));
  EXPECT_EQ(limiter->NumRequeues("a"), 3);
}

TEST(MaxOfRateLimiterTest, RejectsNoLimiters) {
  EXPECT_THAT(Limiter::Create().status(),
              IsInvalidArgument("limiters", "empty"));
  EXPECT_THAT(
      Limiter::Create(std::vector<std::unique_ptr<RateLimiter<std::string>>>())
          .status(),
      IsInvalidArgument("limiters", "empty"));
}

TEST(MaxOfRateLimiterTest, RejectsNull) {
  EXPECT_THAT(
      Limiter::Create(FastSlow(), Exponential(), std::unique_ptr<Fixed>())
          .status(),
      IsInvalidArgument("limiters[2]", "null"));
  EXPECT_THAT(Limiter::Create(std::unique_ptr<Fixed>(), FastSlow()).status(),
              IsInvalidArgument("limiters[0]", "null"));
}

TEST(MaxOfRateLimiterTest, IsAskedByManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kFailures = 500;
  auto limiter = Limiter::Create(FastSlow(), Exponential()).value();
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter] {
      for (int i = 0; i < kFailures; ++i) {
        EXPECT_GE(limiter->When("a"), absl::Milliseconds(5));
        limiter->When("b");
        limiter->NumRequeues("b");
        limiter->Forget("b");
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(limiter->NumRequeues("a"), kThreads * kFailures);
}

}  // namespace
}  // namespace workqueue::max_of_rate_limiter_test
