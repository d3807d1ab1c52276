// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "absl/status/status.h"
#include "examples/mirror/failures.h"
#include "examples/mirror/path_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/controller/reconcile.h"

namespace mirror::mirror_failures_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(FailuresTest, SeparatesRetriedFromGivenUp) {
  const absl::Status full = absl::ResourceExhaustedError("full");
  const absl::Status never = workqueue::TerminalError(full);
  Failures failures;
  EXPECT_FALSE(failures.any_retried());
  EXPECT_EQ(failures.size(), 0u);

  failures.Insert("b", full);
  failures.Insert("a", never);
  EXPECT_TRUE(failures.any_retried());
  EXPECT_THAT(failures.retried(), ElementsAre("b"));
  EXPECT_THAT(failures.all(), ElementsAre(Pair("a", never), Pair("b", full)));

  // The latest error counts.
  failures.Insert("b", never);
  EXPECT_FALSE(failures.any_retried());
  EXPECT_EQ(failures.size(), 2u);
  failures.Insert("a", full);
  EXPECT_THAT(failures.retried(), ElementsAre("a"));
  EXPECT_EQ(failures.size(), 2u);

  failures.Erase("a");
  failures.Erase("b");
  failures.Erase("never there");
  EXPECT_THAT(failures.all(), IsEmpty());
}

TEST(PathMapTest, EraseTree) {
  PathMap<int> map = {{"", 0},      {"a", 1},  {"a!", 2}, {"a/b", 3},
                      {"a/b/c", 4}, {"a0", 5}, {"ab", 6}};
  int sum = 0;
  const auto add = [&sum](int value) { sum += value; };
  EraseTree(map, "a", add);
  EXPECT_EQ(sum, 1 + 3 + 4);
  EXPECT_THAT(map, ElementsAre(Pair("", 0), Pair("a!", 2), Pair("a0", 5),
                               Pair("ab", 6)));
  EraseTree(map, "none", add);
  EXPECT_EQ(map.size(), 4u);
  EraseTree(map, "", add);
  EXPECT_THAT(map, IsEmpty());
}

}  // namespace
}  // namespace mirror::mirror_failures_test
