// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/default_rate_limiters.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/clock/fake_clock.h"

namespace workqueue::default_rate_limiters_test {
namespace {

TEST(DefaultControllerRateLimiterTest, DelaysAnItemThatKeepsFailing) {
  FakeClock clock;
  auto limiter = DefaultControllerRateLimiter<std::string>(&clock);
  absl::Duration expected = absl::Milliseconds(5);
  for (int i = 0; i < 18; ++i) {
    EXPECT_EQ(limiter->When("a"), expected);
    expected *= 2;
  }
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1000));
  EXPECT_EQ(limiter->NumRequeues("a"), 19);
  limiter->Forget("a");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(5));
}

TEST(DefaultControllerRateLimiterTest, LimitsAllItemsToTenASecond) {
  FakeClock clock;
  auto limiter = DefaultControllerRateLimiter<std::string>(&clock);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(limiter->When(absl::StrCat(i)), absl::Milliseconds(5));
  }
  EXPECT_EQ(limiter->When("x"), absl::Milliseconds(100));
  EXPECT_EQ(limiter->When("y"), absl::Milliseconds(200));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(limiter->When("z"), absl::Milliseconds(5));
}

TEST(DefaultControllerRateLimiterTest, UsesTheRealClockByDefault) {
  EXPECT_EQ(DefaultControllerRateLimiter<std::string>()->When("a"),
            absl::Milliseconds(5));
  EXPECT_EQ(DefaultControllerRateLimiter<std::string>(nullptr)->When("a"),
            absl::Milliseconds(5));
}

TEST(DefaultControllerRateLimiterTest, TracksAnyNumberOfItems) {
  FakeClock clock;
  auto limiter = DefaultControllerRateLimiter<std::string>(&clock);
  for (int i = 0; i < 5000; ++i) limiter->When(absl::StrCat(i));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(limiter->NumRequeues(absl::StrCat(i)), 1);
  }
}

// The code from the header's comment.
absl::StatusOr<std::unique_ptr<RateLimiter<std::string>>> WithABound() {
  auto items = ItemExponentialFailureRateLimiter<std::string>::Create(
      absl::Milliseconds(5), absl::Seconds(1000), /*max_tracked_items=*/10000);
  if (!items.ok()) return items.status();
  auto bucket = TokenBucket::Create(/*rate=*/10, /*burst=*/100);
  if (!bucket.ok()) return bucket.status();
  auto all = BucketRateLimiter<std::string>::Create(*std::move(bucket));
  if (!all.ok()) return all.status();
  return MaxOfRateLimiter<std::string>::Create(*std::move(items),
                                               *std::move(all));
}

TEST(DefaultControllerRateLimiterTest, CanBeMadeWithABound) {
  auto limiter = WithABound().value();
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(5));
  EXPECT_EQ(limiter->When("a"), absl::Milliseconds(10));
  for (int i = 0; i < 9999; ++i) limiter->When(absl::StrCat(i));
  EXPECT_EQ(limiter->NumRequeues("a"), 2);
  limiter->When("b");
  EXPECT_EQ(limiter->NumRequeues("a"), 0);
}

TEST(DefaultItemBasedRateLimiterTest, DelaysAnItemThatKeepsFailing) {
  auto limiter = DefaultItemBasedRateLimiter<std::string>();
  absl::Duration expected = absl::Milliseconds(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(limiter->When("a"), expected);
    expected *= 2;
  }
  EXPECT_EQ(limiter->When("a"), absl::Seconds(1000));
}

TEST(DefaultItemBasedRateLimiterTest, DoesNotLimitItemsTogether) {
  auto limiter = DefaultItemBasedRateLimiter<std::string>();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(limiter->When(absl::StrCat(i)), absl::Milliseconds(1));
  }
}

// An item that Abseil cannot hash.
struct Item {
  int id;
};
struct ItemHash {
  size_t operator()(const Item& item) const { return item.id; }
};
struct ItemEq {
  bool operator()(const Item& a, const Item& b) const { return a.id == b.id; }
};

TEST(DefaultRateLimitersTest, UseTheGivenHashAndEquality) {
  FakeClock clock;
  auto for_controller =
      DefaultControllerRateLimiter<Item, ItemHash, ItemEq>(&clock);
  EXPECT_EQ(for_controller->When(Item{1}), absl::Milliseconds(5));
  auto item_based = DefaultItemBasedRateLimiter<Item, ItemHash, ItemEq>();
  EXPECT_EQ(item_based->When(Item{1}), absl::Milliseconds(1));
}

}  // namespace
}  // namespace workqueue::default_rate_limiters_test
