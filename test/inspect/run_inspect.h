// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/inspect/run_inspect.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_INSPECT_RUN_INSPECT_H_
#define WORKQUEUE_TEST_INSPECT_RUN_INSPECT_H_

#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "test/examples/run_program.h"

namespace workqueue {

// Returns the shell's words for the program workqueue-inspect, which must be in
// the test's data, and its arguments.
inline std::string InspectCommand(const std::vector<std::string>& args) {
  std::string command =
      absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"),
                   "/workqueue/inspect/command/workqueue-inspect");
  for (const std::string& arg : args) {
    absl::StrAppend(&command, " '", absl::StrReplaceAll(arg, {{"'", "'\\''"}}),
                    "'");
  }
  return command;
}

// Runs the program.
inline examples::Outcome RunInspect(const std::vector<std::string>& args) {
  return examples::RunCommand(InspectCommand(args));
}

// Runs the program. The output is what it writes to stderr.
inline examples::Outcome RunInspectForErrors(
    const std::vector<std::string>& args) {
  return examples::RunCommand(InspectCommand(args) + " 2>&1 >/dev/null");
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_INSPECT_RUN_INSPECT_H_
