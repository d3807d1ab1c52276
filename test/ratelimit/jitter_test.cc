// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/jitter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/testing/thread.h"

namespace workqueue::jitter_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<Jitter> Make(JitterOptions options, uint64_t seed = 1) {
  options.seed = seed;
  return Jitter::Create(options).value();
}

std::vector<absl::Duration> Vary(Jitter& jitter, absl::Duration d, int n) {
  std::vector<absl::Duration> varied;
  for (int i = 0; i < n; ++i) varied.push_back(jitter.Vary(d));
  return varied;
}

// Checks that `options` spread a second evenly from `min` to `max` seconds.
void ExpectEven(const JitterOptions& options, double min, double max) {
  constexpr int kDraws = 10000;
  constexpr int kParts = 10;
  const auto jitter = Make(options);
  int counts[kParts] = {};
  for (const absl::Duration d : Vary(*jitter, absl::Seconds(1), kDraws)) {
    const double seconds = absl::ToDoubleSeconds(d);
    ASSERT_GE(seconds, min - 1e-9);
    ASSERT_LT(seconds, max + 1e-9);
    const int part = static_cast<int>((seconds - min) / (max - min) * kParts);
    ++counts[std::clamp(part, 0, kParts - 1)];
  }
  // Five standard deviations of a count are 150.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / kParts, 150);
}

TEST(JitterTest, FullIsAnythingUpToTheDuration) {
  ExpectEven(JitterOptions::Full(), 0, 1);
}

TEST(JitterTest, EqualIsAtLeastTheHalf) {
  ExpectEven(JitterOptions::Equal(), 0.5, 1);
}

TEST(JitterTest, PlusMinusIsAroundTheDuration) {
  ExpectEven(JitterOptions::PlusMinus(0.1), 0.9, 1.1);
}

TEST(JitterTest, TheDefaultIsPlusMinusTheHalf) { ExpectEven({}, 0.5, 1.5); }

TEST(JitterTest, OneSeedHasOneSequence) {
  const auto a = Make({}, 7);
  const auto b = Make({}, 7);
  const auto c = Make({}, 8);
  const auto of_a = Vary(*a, absl::Seconds(1), 10);
  EXPECT_EQ(of_a, Vary(*b, absl::Seconds(1), 10));
  EXPECT_NE(of_a, Vary(*c, absl::Seconds(1), 10));
}

// The C++ standard says which number the 10,000th of std::mt19937_64 is.
TEST(JitterTest, TheSequenceIsTheSameEverywhere) {
  const auto jitter = Make(JitterOptions::Full(), 5489);
  const absl::Duration last = Vary(*jitter, absl::Seconds(1), 10000).back();
  EXPECT_EQ(last, absl::Seconds(1) *
                      (static_cast<double>(9981545732273789042u >> 11) /
                       std::exp2(53)));
}

TEST(JitterTest, SeedsDiffer) {
  EXPECT_NE(JitterOptions().seed, JitterOptions().seed);
}

TEST(JitterTest, SomeDurationsStayTheSame) {
  const auto jitter = Make({});
  EXPECT_EQ(jitter->Vary(absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(jitter->Vary(absl::InfiniteDuration()), absl::InfiniteDuration());
  EXPECT_EQ(jitter->Vary(-absl::InfiniteDuration()), -absl::InfiniteDuration());
  const auto none = Make(JitterOptions::PlusMinus(0));
  EXPECT_EQ(none->Vary(absl::Hours(7)), absl::Hours(7));
}

TEST(JitterTest, NothingIsLongerThanTheLongest) {
  for (const JitterOptions& options :
       {JitterOptions::Full(), JitterOptions::Equal(),
        JitterOptions::PlusMinus(0.1), JitterOptions{0.1, 0.7}}) {
    const auto jitter = Make(options);
    const absl::Duration longest = jitter->Longest(absl::Hours(7));
    EXPECT_LE(absl::AbsDuration(longest - absl::Hours(7) * options.max_factor),
              absl::Nanoseconds(1));
    for (const absl::Duration d : Vary(*jitter, absl::Hours(7), 10000)) {
      ASSERT_LE(d, longest);
    }
  }
  EXPECT_EQ(Make({})->Longest(absl::InfiniteDuration()),
            absl::InfiniteDuration());
}

TEST(JitterTest, RejectsBadFactors) {
  EXPECT_THAT(Jitter::Create({-0.5, 1}).status(),
              IsInvalidArgument("min_factor", "-0.5"));
  EXPECT_THAT(Jitter::Create({kNan, 1}).status(),
              IsInvalidArgument("min_factor", "nan"));
  EXPECT_THAT(Jitter::Create({0.5, 0.25}).status(),
              IsInvalidArgument("max_factor", "0.25"));
  EXPECT_THAT(Jitter::Create({0.5, kNan}).status(),
              IsInvalidArgument("max_factor", "nan"));
  EXPECT_THAT(Jitter::Create({0.5, 1e300}).status(),
              IsInvalidArgument("max_factor", "1e+300"));
  EXPECT_THAT(Jitter::Create({0.5, 1000.5}).status(),
              IsInvalidArgument("max_factor", "1000.5"));
  EXPECT_TRUE(Jitter::Create({0.5, 1000}).ok());
  EXPECT_THAT(Jitter::Create({0.5, kInf}).status(),
              IsInvalidArgument("max_factor", "inf"));
  EXPECT_THAT(Jitter::Create({kInf, kInf}).status(),
              IsInvalidArgument("max_factor", "inf"));
  EXPECT_THAT(Jitter::Create(JitterOptions::PlusMinus(1.5)).status(),
              IsInvalidArgument("fraction of PlusMinus()", "1.5"));
  EXPECT_THAT(Jitter::Create(JitterOptions::PlusMinus(-0.5)).status(),
              IsInvalidArgument("fraction of PlusMinus()", "-0.5"));
}

TEST(JitterTest, IsAskedByManyThreads) {
  const auto jitter = Make({});
  std::vector<Thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&jitter] {
      for (const absl::Duration d : Vary(*jitter, absl::Seconds(1), 1000)) {
        EXPECT_LT(d, absl::Seconds(2));
      }
    });
  }
  for (Thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace workqueue::jitter_test
