// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_EXAMPLES_RUN_PROGRAM_H_
#define WORKQUEUE_TEST_EXAMPLES_RUN_PROGRAM_H_

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace examples {

struct Outcome {
  int exit_code;
  std::string out;
};

// Runs `command` in the shell.
inline Outcome RunCommand(const std::string& command) {
  Outcome outcome;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) {
    outcome.out.push_back(static_cast<char>(c));
  }
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// Returns the path of a program of //examples, which must be in the test's
// data.
inline std::string PathOf(absl::string_view program) {
  return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"),
                      "/examples/", program);
}

// Runs the program. The shell parses `args`, which may redirect the output.
inline Outcome RunProgram(absl::string_view program, absl::string_view args) {
  return RunCommand(absl::StrCat(PathOf(program), " ", args));
}

}  // namespace examples

#endif  // WORKQUEUE_TEST_EXAMPLES_RUN_PROGRAM_H_
