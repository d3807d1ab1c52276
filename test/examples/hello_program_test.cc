// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as its users do.

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace {

using ::testing::UnorderedElementsAre;

TEST(ProgramTest, ReconcilesAllKeysAndRetriesTheOneThatFailed) {
  const examples::Outcome outcome = examples::RunProgram("hello", "");
  EXPECT_EQ(outcome.exit_code, 0);
  std::vector<std::string> lines =
      absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "all reconciled");
  lines.pop_back();
  // The two workers may print in any order.
  EXPECT_THAT(lines, UnorderedElementsAre(
                         "default/db reconciled after 0 failures",
                         "default/cache reconciled after 0 failures",
                         "default/web failed; the controller retries it",
                         "default/web reconciled after 1 failures"));
}

}  // namespace
