// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/item_exponential_failure_rate_limiter.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/testing/thread.h"

namespace workqueue::item_exponential_failure_rate_limiter_test {
namespace {

using Limiter = ItemExponentialFailureRateLimiter<std::string>;

std::unique_ptr<Limiter> Make(absl::Duration base, absl::Duration max) {
  return Limiter::Create(base, max).value();
}

TEST(ItemExponentialFailureRateLimiterTest, DoublesWithEachFailure) {
  auto limiter = Make(absl::Milliseconds(3), absl::Seconds(1));
  for (const int ms : {3, 6, 12, 24, 48, 96, 192, 384, 768, 1000, 1000}) {
    EXPECT_EQ(limiter->When("a"), absl::Milliseconds(ms));
  }
  EXPECT_EQ(limiter->NumRequeues("a"), 11);
}

TEST(ItemExponentialFailureRateLimiterTest, TheMaximumIsMaxDelay) {
  EXPECT_EQ(Make(absl::Milliseconds(3), absl::Seconds(1))->MaxDelay(),
            absl::Seconds(1));
  EXPECT_EQ(Make(absl::ZeroDuration(), absl::Seconds(1))->MaxDelay(),
            absl::Seconds(1));
}

TEST(ItemExponentialFailureRateLimiterTest, CountsEachItemByItself) {
  auto limiter = Make(absl::Milliseconds(1), absl::Seconds(1));
  limiter->When("a");
  limiter->When("a");
  limiter->When("a");
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(1));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(2));
  EXPECT_EQ(limiter->NumRequeues("a"), 3);
  EXPECT_EQ(limiter->NumRequeues("b"), 2);
  EXPECT_EQ(limiter->NumRequeues("c"), 0);
}

TEST(ItemExponentialFailureRateLimiterTest, ForgottenItemStartsAnew) {
  auto limiter = Make(absl::Milliseconds(1), absl::Seconds(1));
  limiter->When("a");
  limiter->When("a");
  limiter->When("b");
  limiter->Forget("a");
  limiter->Forget("never seen");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  EXPECT_EQ(limiter->NumRequeues("b"), 1);
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(1));
}

TEST(ItemExponentialFailureRateLimiterTest, StaysAtTheMaximum) {
  const absl::Duration max = absl::Hours(1000);
  for (const absl::Duration base :
       {absl::Nanoseconds(1), absl::Milliseconds(1), absl::Minutes(1)}) {
    auto limiter = Make(base, max);
    absl::Duration last = absl::ZeroDuration();
    for (int i = 0; i < 10000; ++i) {
      const absl::Duration delay = limiter->When("a");
      EXPECT_GE(delay, last);
      last = delay;
    }
    EXPECT_EQ(last, max);
    EXPECT_EQ(limiter->NumRequeues("a"), 10000);
  }
}

TEST(ItemExponentialFailureRateLimiterTest, TakesAnyFiniteDelays) {
  // The longest duration that client-go supports, and longer ones.
  for (const absl::Duration max :
       {absl::Nanoseconds(std::numeric_limits<int64_t>::max()),
        absl::Hours(24 * 365) * 1000000}) {
    auto limiter = Make(absl::Nanoseconds(1), max);
    for (int i = 0; i < 63; ++i) {
      EXPECT_EQ(limiter->When("a"), absl::Nanoseconds(int64_t{1} << i));
    }
    EXPECT_EQ(limiter->When("a"), max);
    EXPECT_EQ(limiter->When("a"), max);
  }
}

TEST(ItemExponentialFailureRateLimiterTest, ZeroBaseIsNoDelay) {
  auto limiter = Make(absl::ZeroDuration(), absl::Seconds(2));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(limiter->When("a"), absl::ZeroDuration());
  }
}

TEST(ItemExponentialFailureRateLimiterTest, RoundsDownToNanoseconds) {
  auto limiter = Make(absl::Nanoseconds(1.75),
                      absl::Nanoseconds(3) + absl::Nanoseconds(1) / 2);
  EXPECT_EQ(limiter->When("a"), absl::Nanoseconds(1));
  EXPECT_EQ(limiter->When("a"), absl::Nanoseconds(2));
  EXPECT_EQ(limiter->When("a"), absl::Nanoseconds(3));
}

TEST(ItemExponentialFailureRateLimiterTest, RejectsBadDelays) {
  const struct {
    absl::Duration base;
    absl::Duration max;
    std::string field;
    std::string value;
  } kCases[] = {
      {absl::Milliseconds(-5), absl::Seconds(1), "base_delay", "-5ms"},
      {absl::InfiniteDuration(), absl::Seconds(1), "base_delay", "inf"},
      {-absl::InfiniteDuration(), absl::Seconds(1), "base_delay", "-inf"},
      {absl::Seconds(1), absl::Nanoseconds(-1), "max_delay", "-1ns"},
      {absl::Seconds(1), absl::InfiniteDuration(), "max_delay", "inf"},
      {absl::Seconds(-2), absl::Seconds(-3), "base_delay", "-2s"},
      {absl::Seconds(2), absl::Seconds(1), "base_delay", "2s"},
      {absl::Seconds(2), absl::Seconds(1), "max_delay", "1s"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Limiter::Create(test.base, test.max).status(),
                IsInvalidArgument(test.field, test.value));
  }
}

TEST(ItemExponentialFailureRateLimiterTest, RejectsABoundOfZero) {
  EXPECT_THAT(Limiter::Create(absl::Seconds(1), absl::Minutes(1), 0).status(),
              IsInvalidArgument("max_tracked_items is 0; ", "at least 1"));
}

TEST(ItemExponentialFailureRateLimiterTest, TracksAtMostMaxTrackedItems) {
  auto limiter =
      Limiter::Create(absl::Milliseconds(1), absl::Seconds(1), 2).value();
  limiter->When("a");
  limiter->When("b");
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(2));
  EXPECT_EQ(limiter->NumRequeues("b"), 1);  // does not count as a failure
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(1));
  EXPECT_EQ(limiter->NumRequeues("b"), 0);
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(4));
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(1));  // evicts "c"
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(8));
  limiter->Forget("a");
  EXPECT_EQ(limiter->When("c"), absl::Milliseconds(1));  // evicts nothing
  EXPECT_EQ(limiter->When("b"), absl::Milliseconds(2));
}

TEST(ItemExponentialFailureRateLimiterTest, TracksAnyNumberByDefault) {
  for (auto& limiter : {Make(absl::Milliseconds(1), absl::Seconds(1)),
                        Limiter::Create(absl::Milliseconds(1), absl::Seconds(1),
                                        kUnboundedItems)
                            .value()}) {
    for (int i = 0; i < 5000; ++i) limiter->When(std::to_string(i));
    for (int i = 0; i < 5000; ++i) {
      ASSERT_EQ(limiter->When(std::to_string(i)), absl::Milliseconds(2));
    }
  }
}

// An item that Abseil cannot hash.
struct Pair {
  int a;
  int b;
};
struct PairHash {
  size_t operator()(const Pair& p) const { return p.a * 31 + p.b; }
};
struct PairEq {
  bool operator()(const Pair& p, const Pair& q) const {
    return p.a == q.a && p.b == q.b;
  }
};

TEST(ItemExponentialFailureRateLimiterTest, UsesTheGivenHashAndEquality) {
  auto limiter =
      ItemExponentialFailureRateLimiter<Pair, PairHash, PairEq>::Create(
          absl::Seconds(1), absl::Minutes(1))
          .value();
  limiter->When(Pair{1, 2});
  EXPECT_EQ(limiter->When(Pair{1, 2}), absl::Seconds(2));
  EXPECT_EQ(limiter->When(Pair{2, 1}), absl::Seconds(1));
}

TEST(ItemExponentialFailureRateLimiterTest, IsARateLimiter) {
  std::unique_ptr<RateLimiter<std::string>> limiter =
      Make(absl::Seconds(1), absl::Minutes(1));
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1));
}

TEST(ItemExponentialFailureRateLimiterTest, CountsTheFailuresOfAllThreads) {
  constexpr int kThreads = 4;
  constexpr int kFailures = 1000;
  auto limiter = Make(absl::Nanoseconds(1), absl::Seconds(1));
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&limiter, t] {
      const std::string own(1, static_cast<char>('a' + t));
      for (int i = 0; i < kFailures; ++i) {
        EXPECT_GT(limiter->When("shared"), absl::ZeroDuration());
        EXPECT_EQ(limiter->When(own), absl::Nanoseconds(1));
        EXPECT_EQ(limiter->NumRequeues(own), 1);
        limiter->Forget(own);
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(limiter->NumRequeues("shared"), kThreads * kFailures);
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

TEST(ItemExponentialFailureRateLimiterTest, ThrowingHashChangesNothing) {
  auto limiter =
      ItemExponentialFailureRateLimiter<
          int, ThrowingHash, std::equal_to<int>>::Create(absl::Milliseconds(1),
                                                         absl::Seconds(1))
          .value();
  EXPECT_EQ(limiter->When(7), absl::Milliseconds(1));
  ThrowingHash::throws = true;
  EXPECT_THROW(limiter->When(7), std::runtime_error);
  EXPECT_THROW(limiter->Forget(7), std::runtime_error);
  EXPECT_THROW(limiter->NumRequeues(7), std::runtime_error);
  ThrowingHash::throws = false;
  EXPECT_EQ(limiter->NumRequeues(7), 1);
  EXPECT_EQ(limiter->When(7), absl::Milliseconds(2));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::item_exponential_failure_rate_limiter_test
