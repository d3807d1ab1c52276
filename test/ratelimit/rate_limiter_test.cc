// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/rate_limiter.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue::rate_limiter_test {
namespace {

class OneSecond final : public RateLimiter<std::string> {
 public:
  explicit OneSecond(bool* destroyed) : destroyed_(destroyed) {}
  ~OneSecond() override { *destroyed_ = true; }

  absl::Duration When(const std::string&) override { return absl::Seconds(1); }
  void Forget(const std::string&) override {}
  int NumRequeues(const std::string&) override { return 0; }

 private:
  bool* const destroyed_;
};

TEST(RateLimiterTest, IsUsedAndDestroyedThroughTheInterface) {
  bool destroyed = false;
  std::unique_ptr<RateLimiter<std::string>> limiter =
      std::make_unique<OneSecond>(&destroyed);
  EXPECT_EQ(limiter->When("pod"), absl::Seconds(1));
  limiter->Forget("pod");
  EXPECT_EQ(limiter->NumRequeues("pod"), 0);
  limiter.reset();
  EXPECT_TRUE(destroyed);
}

TEST(RateLimiterTest, HasNoMaximumByDefault) {
  bool destroyed = false;
  const OneSecond limiter(&destroyed);
  EXPECT_EQ(limiter.MaxDelay(), absl::InfiniteDuration());
}

// Counts, and has a maximum.
class AtMostAMinute final : public RateLimiter<std::string> {
 public:
  absl::Duration When(const std::string& item) override {
    asked.push_back(item);
    return absl::Seconds(1);
  }
  void Forget(const std::string&) override {}
  int NumRequeues(const std::string&) override { return 0; }
  absl::Duration MaxDelay() const override { return absl::Minutes(1); }

  std::vector<std::string> asked;
};

TEST(RateLimiterTest, WhenAfterCountsAndKeepsToTheMaximum) {
  AtMostAMinute limiter;
  EXPECT_EQ(limiter.WhenAfter("a", absl::Seconds(30)), absl::Seconds(30));
  EXPECT_EQ(limiter.WhenAfter("b", absl::Minutes(1)), absl::Minutes(1));
  EXPECT_EQ(limiter.WhenAfter("c", absl::Hours(1)), absl::Minutes(1));
  EXPECT_EQ(limiter.WhenAfter("d", absl::InfiniteDuration()), absl::Minutes(1));
  EXPECT_EQ(limiter.WhenAfter("e", absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(limiter.WhenAfter("f", -absl::Seconds(1)), absl::ZeroDuration());
  EXPECT_EQ(limiter.asked,
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
}

// An item need not be hashable, comparable, copyable or even a complete type.
struct Anything;

TEST(RateLimiterTest, RequiresNothingOfItems) {
  std::unique_ptr<RateLimiter<Anything>> limiter;
  EXPECT_EQ(limiter, nullptr);
}

}  // namespace
}  // namespace workqueue::rate_limiter_test
