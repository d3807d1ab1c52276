// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a seed is the same schedule in each process, step by step.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace {

// Runs schedules in a process with a stack of at most `stack` bytes, and an
// environment with a variable of the value `value`. Returns what it prints,
// without times.
std::string Steps(const std::string& scenario, rlim_t stack,
                  const std::string& value) {
  rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  const rlimit before = limit;
  limit.rlim_cur = stack;
  EXPECT_EQ(setrlimit(RLIMIT_STACK, &limit), 0);
  const std::string command =
      absl::StrCat("env -i VALUE=", value, " test/simulation/simulate",
                   " --scenario=", scenario, " --schedules=3 --steps 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
  std::string output;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, size);
  }
  EXPECT_EQ(pclose(pipe), 0) << output;
  std::vector<std::string> lines = absl::StrSplit(output, '\n');
  EXPECT_TRUE(absl::StrContains(lines[0], "3 schedules in")) << lines[0];
  lines.erase(lines.begin());
  return absl::StrJoin(lines, "\n");
}

class ReplayTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, ReplayTest,
                         testing::Values("queue", "ring", "priority_queue",
                                         "rate_limiting_queue", "controller",
                                         "informer", "shared_queue",
                                         "scheduler"));

TEST_P(ReplayTest, ASeedIsTheSameScheduleInEachProcess) {
  const std::string steps = Steps(GetParam(), 8 << 20, "");
  EXPECT_GT(steps.size(), 1000);
  EXPECT_EQ(Steps(GetParam(), 8 << 20, ""), steps);
  // The stack and what is below it are elsewhere.
  EXPECT_EQ(Steps(GetParam(), 200 << 20, std::string(5000, 'x')), steps);
}

}  // namespace
