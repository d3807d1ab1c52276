// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/run_command.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_RUN_COMMAND_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_RUN_COMMAND_H_

#include <cstdio>

#include "absl/status/status.h"
#include "workqueue/clock/clock.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/source.h"

namespace workqueue {
namespace internal {

// Where a command writes.
struct CommandOutput {
  std::FILE* file;
  bool is_terminal = false;
};

// Runs the command of `arguments`, which must not be `help`, on `source`. A
// watch pauses on `clock`, and returns only after an error. The message of an
// error is one line, which names the wrong argument if one is wrong.
absl::Status RunCommand(const CommandArguments& arguments, Source* source,
                        Clock* clock, const CommandOutput& output);

// Returns the exit code of a command with the result `status`: 2 if an argument
// was wrong or names nothing, and 1 after another error.
int ExitCodeOf(const absl::Status& status);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_RUN_COMMAND_H_
