// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/limiter_spec.h"

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace conformance::limiter_spec_test {
namespace {

TEST(ParseLimiterTest, MakesExponential) {
  const auto limiter = ParseLimiter("exponential(5ms,12ms)");
  ASSERT_TRUE(limiter.ok()) << limiter.status();
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(5));
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(10));
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(12));
  EXPECT_EQ((*limiter)->NumRequeues("a"), 3);
}

TEST(ParseLimiterTest, MakesFastSlow) {
  const auto limiter = ParseLimiter("fastslow(0s,1h,2)");
  ASSERT_TRUE(limiter.ok()) << limiter.status();
  EXPECT_EQ((*limiter)->When("a"), absl::ZeroDuration());
  EXPECT_EQ((*limiter)->When("a"), absl::ZeroDuration());
  EXPECT_EQ((*limiter)->When("a"), absl::Hours(1));
}

TEST(ParseLimiterTest, MakesMaxOf) {
  const auto limiter =
      ParseLimiter("maxof(exponential(4s,8s),fastslow(5s,6s,1))");
  ASSERT_TRUE(limiter.ok()) << limiter.status();
  EXPECT_EQ((*limiter)->When("a"), absl::Seconds(5));
  EXPECT_EQ((*limiter)->When("a"), absl::Seconds(8));
  EXPECT_EQ((*limiter)->NumRequeues("a"), 2);
}

TEST(ParseLimiterTest, MakesMaxWait) {
  const auto limiter = ParseLimiter("maxwait(exponential(1s,1000s),3s)");
  ASSERT_TRUE(limiter.ok()) << limiter.status();
  EXPECT_EQ((*limiter)->When("a"), absl::Seconds(1));
  EXPECT_EQ((*limiter)->When("a"), absl::Seconds(2));
  EXPECT_EQ((*limiter)->When("a"), absl::Seconds(3));
}

TEST(ParseLimiterTest, MakesLimitersOfLimiters) {
  const auto limiter = ParseLimiter(
      "maxof(maxwait(exponential(1ms,3600s),500ms),"
      "maxof(fastslow(2ms,200ms,2),maxwait(fastslow(1ns,1h,3),300ms)))");
  ASSERT_TRUE(limiter.ok()) << limiter.status();
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(2));
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(2));
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(200));
  EXPECT_EQ((*limiter)->When("a"), absl::Milliseconds(300));
}

TEST(ParseLimiterTest, ReportsErrors) {
  const struct {
    const char* spec;
    const char* error;
  } cases[] = {
      {"", "unknown limiter \"\""},
      {"linear(1s,2s)", "unknown limiter \"linear\""},
      {"Exponential(1s,2s)", "unknown limiter \"Exponential\""},
      {"(1s,2s)", "unknown limiter \"\""},
      {"exponential", "want ( in the limiter, got \"\""},
      {"exponential,", "want ( in the limiter, got \",\""},
      {"exponential()", "\"\" is not a duration"},
      {"exponential(1s)", "want , in the limiter, got \")\""},
      {"exponential(1s,2s", "want ) in the limiter, got \"\""},
      {"exponential(1s,2s,3s)", "want ) in the limiter, got \",3s)\""},
      {"exponential(1s,2s))", "unexpected \")\""},
      {"exponential(1s,2s)metrics", "unexpected \"metrics\""},
      {"exponential(1,2s)", "\"1\" is not a duration"},
      {"exponential(1s,inf)", "\"inf\" is not a duration"},
      {"exponential(-1s,2s)",
       "base_delay is -1s; it must be finite and not negative"},
      {"fastslow(1s,2s)", "want , in the limiter, got \")\""},
      {"fastslow(1s,2s,3s)", "not a number of attempts: \"3s\""},
      {"fastslow(1s,2s,)", "not a number of attempts: \"\""},
      {"fastslow(1s,2s,-1)",
       "max_fast_attempts is -1; it must not be negative"},
      {"maxof(exponential(1s,2s))", "want , in the limiter, got \")\""},
      {"maxof(exponential(1s,2s),5s)", "unknown limiter \"5s\""},
      {"maxof(a,b)", "unknown limiter \"a\""},
      {"maxwait(1s,2s)", "unknown limiter \"1s\""},
      {"maxwait(exponential(1s,2s),exponential(1s,2s))",
       "\"exponential\" is not a duration"},
  };
  for (const auto& c : cases) {
    const auto limiter = ParseLimiter(c.spec);
    ASSERT_FALSE(limiter.ok()) << c.spec;
    EXPECT_EQ(std::string(limiter.status().message()), c.error) << c.spec;
  }
}

TEST(ParseLimiterTest, LimitsTheNesting) {
  std::string spec;
  for (int i = 0; i < 1000000; ++i) spec += "maxwait(";
  EXPECT_FALSE(ParseLimiter(spec).ok());
}

}  // namespace
}  // namespace conformance::limiter_spec_test
