// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/rate_limiter.h"

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue {
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

// An item need not be hashable, comparable, copyable or even a complete type.
struct Anything;

TEST(RateLimiterTest, RequiresNothingOfItems) {
  std::unique_ptr<RateLimiter<Anything>> limiter;
  EXPECT_EQ(limiter, nullptr);
}

}  // namespace
}  // namespace workqueue
