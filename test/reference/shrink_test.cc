// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/reference/shrink.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/failure.h"
#include "test/reference/subject.h"

namespace reference {
namespace {

using Bytes = std::vector<uint8_t>;

// Simulates a switch with ten positions. It is off by one if it was set to 7
// while the light was on and is read afterwards.
std::string RunBrokenSwitch(Choices choices, std::string* log) {
  Comparison comparison(log);
  choices.Next();
  bool light = false;
  int position = 0;
  int broken = 0;
  while (!choices.empty() && comparison.agrees()) {
    choices.Next();
    const int choice = choices.Below(4);
    if (choice == 0) {
      comparison.Returned(position + broken, position, "Look");
    } else if (choice == 1) {
      position = choices.Below(10);
      broken = light && position == 7 ? 1 : 0;
      comparison.Did("Set", position);
    } else {
      light = choices.OneIn(2);
      comparison.Did("Light", light);
    }
  }
  return comparison.disagreement();
}

Subject BrokenSwitch() { return {"broken_switch", RunBrokenSwitch}; }

TEST(ShrinkTest, KeepsOnlyTheOperationsNeededToFail) {
  setenv("TEST_TARGET", "//light:test", /*overwrite=*/1);
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    Bytes bytes(4000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    EXPECT_EQ(
        FindFailure(BrokenSwitch(), bytes),
        "broken_switch and its model disagree: Look() returned 8, and "
        "not 7\n"
        "after\n"
        "Light(true)\n"
        "Set(7)\n"
        "Look() -> 8\n"
        "To repeat it:\n"
        "  tools/bazelw run //light:test -- --subject=broken_switch --replay="
        "000000008080000040b4000000000000\n");
  }
}

TEST(ShrinkTest, AgreementIsNoFailure) {
  EXPECT_EQ(FindFailure(BrokenSwitch(), Bytes(400)), "");
  EXPECT_EQ(FindFailure(BrokenSwitch(), Bytes()), "");
}

TEST(ShrinkTest, TheSetupIsSimplifiedButKept) {
  const Bytes bytes = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(Shrink(bytes, [](const Bytes&) { return true; }), Bytes(4));
  EXPECT_EQ(Shrink(bytes, [](const Bytes& b) { return b[1] >= 3; }),
            (Bytes{0, 3, 0, 0}));
}

TEST(ShrinkTest, RespectsTheLimitOfRuns) {
  int runs = 0;
  const auto is_long = [&runs](const Bytes& bytes) {
    ++runs;
    return bytes.size() > 2000;
  };
  const Bytes shrunk = Shrink(Bytes(4000, 255), is_long, /*max_runs=*/100);
  EXPECT_EQ(runs, 100);
  EXPECT_TRUE(is_long(shrunk));
  EXPECT_LT(shrunk.size(), 2100u);
}

}  // namespace
}  // namespace reference
