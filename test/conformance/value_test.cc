// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/value.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace conformance::value_test {
namespace {

TEST(ParseDurationTest, ReadsWhatGoReads) {
  const struct {
    const char* text;
    absl::Duration want;
  } cases[] = {
      {"0", absl::ZeroDuration()},
      {"0s", absl::ZeroDuration()},
      {"-0s", absl::ZeroDuration()},
      {"250ms", absl::Milliseconds(250)},
      {"-1s", absl::Seconds(-1)},
      {"+1s", absl::Seconds(1)},
      {"997us", absl::Microseconds(997)},
      {"997\u00b5s", absl::Microseconds(997)},
      {"997\u03bcs", absl::Microseconds(997)},
      {"12345ns", absl::Nanoseconds(12345)},
      {"1h2m3.5s", absl::Seconds(3723.5)},
      {".5s", absl::Milliseconds(500)},
      {"1.s", absl::Seconds(1)},
      {"0.000000001s", absl::Nanoseconds(1)},
      {"1.9ns", absl::Nanoseconds(1)},
      {"-1.9ns", absl::Nanoseconds(-1)},
      {"4611686018427387904ns", absl::Nanoseconds(int64_t{1} << 62)},
      {"9223372036854775807ns",
       absl::Nanoseconds(std::numeric_limits<int64_t>::max())},
      {"-9223372036854775808ns",
       absl::Nanoseconds(std::numeric_limits<int64_t>::min())},
      {"-2562047h47m16.854775808s",
       absl::Nanoseconds(std::numeric_limits<int64_t>::min())},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto got = ParseDuration(c.text);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, c.want);
  }
}

TEST(ParseDurationTest, ReadsNothingElse) {
  for (const char* text : {"",
                           "1",
                           "s",
                           "-",
                           "1 s",
                           "1x",
                           "s1",
                           "1s2",
                           "--1s",
                           "1e3s",
                           "inf",
                           "-inf",
                           "+inf",
                           "nan",
                           "<never>",
                           "9223372036854775808ns",
                           "2562048h",
                           "-2562048h",
                           "99999999999999999999s",
                           "1\u00b5",
                           "1\xffs"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(ParseValueTest, ReadsEachType) {
  EXPECT_EQ(*ParseValue(Type::kItem, "\u00e9#="),
            Value(std::string("\u00e9#=")));
  EXPECT_EQ(*ParseValue(Type::kBoolean, "true"), Value(true));
  EXPECT_EQ(*ParseValue(Type::kBoolean, "false"), Value(false));
  EXPECT_EQ(*ParseValue(Type::kInteger, "-12"), Value(int64_t{-12}));
  EXPECT_EQ(*ParseValue(Type::kDecimal, "-2.555000"), Value(-2.555));
  EXPECT_EQ(*ParseValue(Type::kDuration, "1m"), Value(absl::Minutes(1)));
}

TEST(ParseValueTest, ReportsErrors) {
  const struct {
    Type type;
    const char* text;
    const char* error;
  } cases[] = {
      {Type::kBoolean, "True", "\"True\" is not true or false"},
      {Type::kBoolean, "1", "\"1\" is not true or false"},
      {Type::kInteger, "1.0", "\"1.0\" is not an integer"},
      {Type::kInteger, "9223372036854775808",
       "\"9223372036854775808\" is not an integer"},
      {Type::kInteger, "a\x01\u00e9", "\"a\\x01\u00e9\" is not an integer"},
      {Type::kDecimal, "1.0s", "\"1.0s\" is not a number"},
      {Type::kDecimal, "inf", "\"inf\" is not a number"},
      {Type::kDecimal, "nan", "\"nan\" is not a number"},
      {Type::kDuration, "5", "\"5\" is not a duration"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(std::string(ParseValue(c.type, c.text).status().message()),
              c.error);
  }
}

TEST(AgreeTest, WithoutToleranceOnlyEqualValuesAgree) {
  const Result one = {int64_t{1}};
  EXPECT_TRUE(Agree({}, {}, 0));
  EXPECT_TRUE(Agree(one, one, 0));
  EXPECT_FALSE(Agree(one, {}, 0));
  EXPECT_FALSE(Agree({}, one, 0));
  EXPECT_FALSE(Agree(one, {int64_t{2}}, 0));
  EXPECT_FALSE(Agree(one, {1.0}, 0));
  EXPECT_FALSE(Agree(one, {true}, 0));
  EXPECT_FALSE(Agree({std::string("a")}, {std::string("b")}, 0));
  EXPECT_FALSE(
      Agree({absl::Seconds(1)}, {absl::Seconds(1) + absl::Nanoseconds(1)}, 0));
  EXPECT_TRUE(Agree({absl::InfiniteDuration()}, {absl::InfiniteDuration()}, 0));
  EXPECT_FALSE(Agree({absl::Seconds(1)}, {absl::InfiniteDuration()}, 0));
}

TEST(AgreeTest, ToleranceIsForDecimalsAndDurations) {
  EXPECT_TRUE(Agree({1.0}, {1.000009}, 1e-5));
  EXPECT_TRUE(Agree({1.0}, {0.999991}, 1e-5));
  EXPECT_FALSE(Agree({1.0}, {1.000011}, 1e-5));
  EXPECT_FALSE(Agree({1.0}, {0.999989}, 1e-5));
  EXPECT_FALSE(Agree({int64_t{1}, 1.0}, {int64_t{2}, 1.0}, 10));
  EXPECT_FALSE(Agree({true}, {false}, 10));

  const absl::Duration d = absl::Seconds(3);
  EXPECT_TRUE(Agree({d}, {d + absl::Microseconds(1)}, 1e-6));
  EXPECT_TRUE(Agree({d}, {d - absl::Microseconds(1)}, 1e-6));
  EXPECT_FALSE(Agree({d}, {d + absl::Nanoseconds(1001)}, 1e-6));
  EXPECT_FALSE(Agree({d}, {d - absl::Nanoseconds(1001)}, 1e-6));
  EXPECT_FALSE(Agree({std::string("<never>")}, {d}, 1e-6));
}

TEST(FormatTest, WritesAsATraceDoes) {
  EXPECT_EQ(Format({}), "");
  EXPECT_EQ(Format({std::string("a")}), "a");
  EXPECT_EQ(Format({true}), "true");
  EXPECT_EQ(Format({int64_t{-7}}), "-7");
  EXPECT_EQ(Format({int64_t{2}, 1.25}), "2 1.250000");
  EXPECT_EQ(Format({absl::Nanoseconds(1666666666)}), "1.666666666s");
}

TEST(AgreeTest, AnOverflowInGoMeansALongDelay) {
  const Result overflow = {
      absl::Nanoseconds(std::numeric_limits<int64_t>::min())};
  EXPECT_TRUE(Agree(overflow, {absl::Seconds(1000)}, 0));
  EXPECT_TRUE(Agree(overflow, {absl::ZeroDuration()}, 0));
  EXPECT_FALSE(Agree(overflow, {absl::Nanoseconds(-1)}, 0));
  EXPECT_FALSE(Agree(overflow, overflow, 0));
}

}  // namespace
}  // namespace conformance::value_test
