// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as a user does. No check depends on its speed.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace device_heartbeats::device_heartbeats_program_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Outcome RunProgram(absl::string_view args) {
  return examples::RunProgram("device_heartbeats", args);
}

TEST(ProgramTest, Watch) {
  const Outcome outcome = RunProgram(
      "--devices=10000 --workers=2 --period=300ms --timeout=1s "
      "--duration=1800ms --seed 7");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr(" devices missing\n10000 devices sent "),
                    HasSubstr(" heartbeats, "), HasSubstr(" fell silent: "),
                    HasSubstr(" found missing, "),
                    HasSubstr(" of CPU time in "), Not(HasSubstr("WRONG"))));
}

TEST(ProgramTest, WrongFlagsGetOneLineAndExitCode2) {
  for (const char* const flag :
       {"--devices=0", "--devices=1000001", "--workers=0", "--workers=many",
        "--period=0", "--period=-1s", "--period=inf", "--timeout=5",
        "--timeout=3s", "--duration=10.499s", "--seed=-1", "--nonsense",
        "argument"}) {
    const Outcome outcome = RunProgram(absl::StrCat(flag, " 2>&1 >/dev/null"));
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.out,
                StartsWith(absl::StrCat("device_heartbeats: ", flag, ": ")));
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
    EXPECT_EQ(RunProgram(absl::StrCat(flag, " 2>/dev/null")).out, "");
  }
}

TEST(ProgramTest, Help) {
  const Outcome outcome = RunProgram("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("usage: device_heartbeats"),
                                 HasSubstr("--devices"), HasSubstr("--workers"),
                                 HasSubstr("--period"), HasSubstr("--timeout"),
                                 HasSubstr("--duration"), HasSubstr("--seed"),
                                 HasSubstr("--help")));
}

}  // namespace
}  // namespace device_heartbeats::device_heartbeats_program_test
