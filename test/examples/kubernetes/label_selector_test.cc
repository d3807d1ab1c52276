// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/label_selector.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/kubernetes/objects.h"
#include "gtest/gtest.h"

namespace kubernetes::label_selector_test {
namespace {

const StringMap kNone;
const StringMap kA = {{"team", "a"}};
const StringMap kB = {{"team", "b"}};
const StringMap kEmpty = {{"team", ""}};

// Returns which of the labels above `selector` matches, or its error.
std::string Matches(const char* selector) {
  const absl::StatusOr<LabelSelector> parsed = LabelSelector::Parse(selector);
  if (!parsed.ok()) return parsed.status().ToString();
  return absl::StrCat(
      parsed->Matches(kNone) ? "none " : "", parsed->Matches(kA) ? "a " : "",
      parsed->Matches(kB) ? "b " : "", parsed->Matches(kEmpty) ? "empty " : "");
}

TEST(LabelSelectorTest, AnEmptySelectorMatchesEverything) {
  EXPECT_EQ(Matches(""), "none a b empty ");
  EXPECT_EQ(Matches(" \t"), "none a b empty ");
}

TEST(LabelSelectorTest, EachForm) {
  EXPECT_EQ(Matches("team"), "a b empty ");
  EXPECT_EQ(Matches("!team"), "none ");
  EXPECT_EQ(Matches("team=a"), "a ");
  EXPECT_EQ(Matches("team==a"), "a ");
  EXPECT_EQ(Matches("team!=a"), "none b empty ");
  EXPECT_EQ(Matches("team in (a)"), "a ");
  EXPECT_EQ(Matches("team in (a,b)"), "a b ");
  EXPECT_EQ(Matches("team notin (a)"), "none b empty ");
  EXPECT_EQ(Matches("team notin (a,b)"), "none empty ");
  EXPECT_EQ(Matches("other"), "");
  EXPECT_EQ(Matches("!other"), "none a b empty ");
}

TEST(LabelSelectorTest, AValueMayBeEmpty) {
  EXPECT_EQ(Matches("team="), "empty ");
  EXPECT_EQ(Matches("team!="), "none a b ");
  EXPECT_EQ(Matches("team in ()"), "empty ");
  EXPECT_EQ(Matches("team in (a,)"), "a empty ");
  EXPECT_EQ(Matches("team notin (,a)"), "none b ");
}

TEST(LabelSelectorTest, AllConditionsMustHold) {
  EXPECT_EQ(Matches("team,team!=a"), "b empty ");
  EXPECT_EQ(Matches("team in (a,b),team notin (b,c),!other"), "a ");
  EXPECT_EQ(Matches("team=a,team=b"), "");
}

TEST(LabelSelectorTest, BlanksDoNotMatter) {
  EXPECT_EQ(Matches("  team  =  a  ,  !  other  "), "a ");
  EXPECT_EQ(Matches("team in(a,b)"), "a b ");
  EXPECT_EQ(Matches(" team\tin ( a , b ) , team notin ( b ) "), "a ");
}

TEST(LabelSelectorTest, KeysAndValuesHaveTheCharactersOfLabels) {
  const auto selector =
      LabelSelector::Parse("app.kubernetes.io/part-of=A_1.b-c");
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_TRUE(
      selector->Matches({{"app.kubernetes.io/part-of", "A_1.b-c"}, {"a", ""}}));
  EXPECT_FALSE(selector->Matches({{"app.kubernetes.io/part-of", "a_1.b-c"}}));
}

// A key may have the name of an operator.
TEST(LabelSelectorTest, OperatorsAreNotReserved) {
  const auto selector = LabelSelector::Parse("in in (in,notin),notin");
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_TRUE(selector->Matches({{"in", "notin"}, {"notin", ""}}));
  EXPECT_FALSE(selector->Matches({{"in", "notin"}}));
}

TEST(LabelSelectorTest, AnErrorTellsWhere) {
  const auto error = [](const char* selector, const char* expected) {
    EXPECT_EQ(LabelSelector::Parse(selector).status(),
              absl::InvalidArgumentError(absl::StrCat(
                  "the selector '", selector, "' has no ", expected)));
  };
  error(",", "key at character 1");
  error("=a", "key at character 1");
  error("!", "key at character 2");
  error("!=a", "key at character 2");
  error("team,", "key at character 6");
  error("team, ,a", "key at character 7");
  error("!team=a", "comma at character 6");
  error("team=a=b", "comma at character 7");
  error("team=a b", "comma at character 8");
  error("team>1", "comma at character 5");
  error("team in (a) b", "comma at character 13");
  error("t\u00e9am", "comma at character 2");
  error("team in a", "( at character 9");
  error("team notin", "( at character 11");
  error("team in (a", ") at character 11");
  error("team in (a b)", ") at character 12");
  error("team is (a)", "operator at character 6");
  error("team IN (a)", "operator at character 6");
  error("a b", "operator at character 3");
}

}  // namespace
}  // namespace kubernetes::label_selector_test
