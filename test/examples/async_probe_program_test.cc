// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as a user does. No check depends on its speed.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace async_probe::async_probe_program_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Outcome RunProgram(absl::string_view args) {
  return examples::RunProgram("async_probe", args);
}

void ProbeWith(absl::string_view program) {
  const Outcome outcome = examples::RunProgram(
      program,
      "--endpoints=300 --seconds=2 --period=500ms --latency=50ms "
      "--timeout=1s --threads=2");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("  1 s: "), HasSubstr("  2 s: "),
                    HasSubstr("\n300 endpoints: 300 have answered\n"),
                    ContainsRegex("\n[0-9]+ probes in 2[0-9.]*s, "),
                    ContainsRegex("\nlatency: p50 [0-9.]+m?s, p99 "),
                    ContainsRegex("\n[0-9]+ probes failed, [0-9]+ were "),
                    ContainsRegex("\npeak memory: [0-9.]+ MB"),
                    ContainsRegex("\n[0-9]+ threads: 2 that probe")));
}

TEST(ProgramTest, Probe) { ProbeWith("async_probe"); }

TEST(ProgramTest, ProbeWithCoroutines) {
#ifdef __cpp_impl_coroutine
  ProbeWith("async_probe_coroutine");
#else
  const Outcome outcome = examples::RunProgram("async_probe_coroutine", "2>&1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("build it as C++20"));
#endif
}

TEST(ProgramTest, WrongFlagsGetOneLineAndExitCode2) {
  for (const char* const flag :
       {"--endpoints=0", "--endpoints=1000001", "--threads=many",
        "--in_flight=0", "--seconds=0", "--period=0", "--latency=-1s",
        "--timeout=5", "--timeout=400ms", "--nonsense", "argument"}) {
    const Outcome outcome = RunProgram(absl::StrCat(flag, " 2>&1 >/dev/null"));
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.out, StartsWith(absl::StrCat("async_probe: ", flag)));
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
    EXPECT_EQ(RunProgram(absl::StrCat(flag, " 2>/dev/null")).out, "");
  }
}

TEST(ProgramTest, TooFewOpenFiles) {
  const Outcome outcome = examples::RunCommand(
      absl::StrCat("ulimit -n 1000; ", examples::PathOf("async_probe"),
                   " --in_flight=500 2>&1"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("--in_flight=500: requires 1100 open "
                                     "files, but the limit is 1000"));
}

TEST(ProgramTest, Help) {
  const Outcome outcome = RunProgram("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("usage: async_probe"), HasSubstr("--endpoints"),
                    HasSubstr("--threads"), HasSubstr("--in_flight"),
                    HasSubstr("--seconds"), HasSubstr("--period"),
                    HasSubstr("--latency"), HasSubstr("--timeout"),
                    HasSubstr("--help")));
}

}  // namespace
}  // namespace async_probe::async_probe_program_test
