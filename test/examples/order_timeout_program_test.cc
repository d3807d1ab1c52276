// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as a user does.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace order_timeout::order_timeout_program_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Outcome RunProgram(absl::string_view args) {
  return examples::RunProgram("order_timeout", args);
}

TEST(ProgramTest, Day) {
  const Outcome outcome = RunProgram("--orders=2000 --seed 7");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("2000 orders: "), HasSubstr(" paid, "),
                    HasSubstr(" cancelled\n"), HasSubstr("came too late\n"),
                    HasSubstr(" simulated in "), EndsWith("\nexact\n")));
}

TEST(ProgramTest, SeedChangesTheOutcome) {
  const auto first_line = [](const std::string& out) {
    return out.substr(0, out.find('\n'));
  };
  EXPECT_EQ(first_line(RunProgram("--orders=2000 --seed=1").out),
            first_line(RunProgram("--orders=2000").out));
  EXPECT_NE(first_line(RunProgram("--orders=2000 --seed=1").out),
            first_line(RunProgram("--orders=2000 --seed=2").out));
}

TEST(ProgramTest, WrongFlagsGetOneLineAndExitCode2) {
  for (const char* const flag :
       {"--orders=0", "--orders=1000001", "--orders=many", "--seed=-1",
        "--seed=1x", "--nonsense", "argument"}) {
    const Outcome outcome = RunProgram(absl::StrCat(flag, " 2>&1 >/dev/null"));
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.out,
                StartsWith(absl::StrCat("order_timeout: ", flag, ": ")));
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
    EXPECT_EQ(RunProgram(absl::StrCat(flag, " 2>/dev/null")).out, "");
  }
}

TEST(ProgramTest, Help) {
  const Outcome outcome = RunProgram("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("usage: order_timeout"), HasSubstr("--orders"),
                    HasSubstr("--seed"), HasSubstr("--help")));
}

}  // namespace
}  // namespace order_timeout::order_timeout_program_test
