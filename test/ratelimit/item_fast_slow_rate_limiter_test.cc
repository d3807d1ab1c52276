// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/item_fast_slow_rate_limiter.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/testing/thread.h"

namespace workqueue::item_fast_slow_rate_limiter_test {
namespace {

using Limiter = ItemFastSlowRateLimiter<std::string>;

constexpr absl::Duration kFast = absl::Milliseconds(7);
constexpr absl::Duration kSlow = absl::Seconds(9);

TEST(ItemFastSlowRateLimiterTest, IsFastAtFirst) {
  auto limiter = Limiter::Create(kFast, kSlow, 2).value();
  EXPECT_EQ(limiter->When("a"), kFast);
  EXPECT_EQ(limiter->When("a"), kFast);
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->NumRequeues("a"), 4);
}

TEST(ItemFastSlowRateLimiterTest, TheMaximumIsTheLongerDelay) {
  EXPECT_EQ(Limiter::Create(kFast, kSlow, 2).value()->MaxDelay(), kSlow);
  EXPECT_EQ(Limiter::Create(kSlow, kFast, 2).value()->MaxDelay(), kSlow);
}

TEST(ItemFastSlowRateLimiterTest, CountsEachItemByItself) {
  auto limiter = Limiter::Create(kFast, kSlow, 1).value();
  EXPECT_EQ(limiter->When("a"), kFast);
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->When("b"), kFast);
  EXPECT_EQ(limiter->NumRequeues("a"), 2);
  EXPECT_EQ(limiter->NumRequeues("b"), 1);
  EXPECT_EQ(limiter->NumRequeues("c"), 0);
}

TEST(ItemFastSlowRateLimiterTest, ForgottenItemStartsAnew) {
  auto limiter = Limiter::Create(kFast, kSlow, 1).value();
  limiter->When("a");
  limiter->When("a");
  limiter->Forget("a");
  limiter->Forget("never seen");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  EXPECT_EQ(limiter->When("a"), kFast);
  EXPECT_EQ(limiter->When("a"), kSlow);
}

TEST(ItemFastSlowRateLimiterTest, NoFastAttemptsIsAlwaysSlow) {
  auto limiter = Limiter::Create(kFast, kSlow, 0).value();
  EXPECT_EQ(limiter->When("a"), kSlow);
}

TEST(ItemFastSlowRateLimiterTest, ManyFastAttemptsAreFast) {
  auto limiter =
      Limiter::Create(kFast, kSlow, std::numeric_limits<int>::max()).value();
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(limiter->When("a"), kFast);
}

TEST(ItemFastSlowRateLimiterTest, FastMayBeTheSlowerOne) {
  auto limiter = Limiter::Create(kSlow, absl::ZeroDuration(), 1).value();
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->When("a"), absl::ZeroDuration());
}

TEST(ItemFastSlowRateLimiterTest, RejectsBadArguments) {
  const struct {
    absl::Duration fast;
    absl::Duration slow;
    int attempts;
    std::string field;
    std::string value;
  } kCases[] = {
      {-kFast, kSlow, 1, "fast_delay", "-7ms"},
      {absl::InfiniteDuration(), kSlow, 1, "fast_delay", "inf"},
      {kFast, -kSlow, 1, "slow_delay", "-9s"},
      {kFast, absl::InfiniteDuration(), 1, "slow_delay", "inf"},
      {kFast, kSlow, -3, "max_fast_attempts", "-3"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Limiter::Create(test.fast, test.slow, test.attempts).status(),
                IsInvalidArgument(test.field, test.value));
  }
}

TEST(ItemFastSlowRateLimiterTest, RejectsABoundOfZero) {
  EXPECT_THAT(
      Limiter::Create(kFast, kSlow, 1, /*max_tracked_items=*/0).status(),
      IsInvalidArgument("max_tracked_items is 0; ", "at least 1"));
}

TEST(ItemFastSlowRateLimiterTest, TracksAtMostMaxTrackedItems) {
  auto limiter =
      Limiter::Create(kFast, kSlow, 1, /*max_tracked_items=*/2).value();
  EXPECT_EQ(limiter->When("a"), kFast);
  EXPECT_EQ(limiter->When("b"), kFast);
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->NumRequeues("b"), 1);  // does not count as a failure
  EXPECT_EQ(limiter->When("c"), kFast);
  EXPECT_EQ(limiter->NumRequeues("b"), 0);
  EXPECT_EQ(limiter->When("a"), kSlow);
  EXPECT_EQ(limiter->When("b"), kFast);  // evicts "c"
  EXPECT_EQ(limiter->When("a"), kSlow);
  limiter->Forget("a");
  EXPECT_EQ(limiter->When("c"), kFast);  // evicts nothing
  EXPECT_EQ(limiter->When("b"), kSlow);
}

TEST(ItemFastSlowRateLimiterTest, TracksAnyNumberByDefault) {
  for (auto& limiter :
       {Limiter::Create(kFast, kSlow, 1).value(),
        Limiter::Create(kFast, kSlow, 1, kUnboundedItems).value()}) {
    for (int i = 0; i < 5000; ++i) limiter->When(std::to_string(i));
    for (int i = 0; i < 5000; ++i) {
      ASSERT_EQ(limiter->When(std::to_string(i)), kSlow);
    }
  }
}

TEST(ItemFastSlowRateLimiterTest, CountsTheFastAttemptsOfAllThreads) {
  constexpr int kThreads = 4;
  constexpr int kFailures = 500;
  constexpr int kFastAttempts = 777;
  auto limiter = Limiter::Create(kFast, kSlow, kFastAttempts).value();
  std::vector<int> fast(kThreads);
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter, &fast, t] {
      for (int i = 0; i < kFailures; ++i) {
        if (limiter->When("a") == kFast) ++fast[t];
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  int all_fast = 0;
  for (const int n : fast) all_fast += n;
  EXPECT_EQ(all_fast, kFastAttempts);
  EXPECT_EQ(limiter->NumRequeues("a"), kThreads * kFailures);
}

#ifdef ABSL_HAVE_EXCEPTIONS

struct ThrowingHash {
  size_t operator()(int i) const {
    if (throws) throw std::runtime_error("as told");
    return std::hash<int>()(i);
  }
  static bool throws;
};
bool ThrowingHash::throws = false;

TEST(ItemFastSlowRateLimiterTest, ThrowingHashChangesNothing) {
  auto limiter =
      ItemFastSlowRateLimiter<int, ThrowingHash, std::equal_to<int>>::Create(
          kFast, kSlow, 2)
          .value();
  EXPECT_EQ(limiter->When(7), kFast);
  ThrowingHash::throws = true;
  EXPECT_THROW(limiter->When(7), std::runtime_error);
  EXPECT_THROW(limiter->Forget(7), std::runtime_error);
  ThrowingHash::throws = false;
  EXPECT_EQ(limiter->When(7), kFast);
  EXPECT_EQ(limiter->When(7), kSlow);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::item_fast_slow_rate_limiter_test
