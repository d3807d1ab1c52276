// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/arguments.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_ARGUMENTS_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_ARGUMENTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// CommandArguments
//
// The parsed command line of `workqueue-inspect`.
struct CommandArguments {
  enum class Command { kList, kShow, kWatch, kRequeue, kForget, kCancel };

  bool help = false;  // Then the other fields have no meaning.

  // The form of the output. Without a value, a terminal gets tables, and a file
  // or a pipe gets JSON.
  std::optional<bool> json;

  absl::Duration interval = absl::Seconds(2);                // of kWatch
  std::vector<std::pair<std::string, std::string>> headers;  // of HTTP requests
  std::string address;
  Command command = Command::kList;
  std::optional<std::string> name;
  std::optional<std::string> key;
};

// Parses the arguments of `main()`. The message of an error is one line that
// names the wrong argument, its value and the reason. Does not look at the
// address. Not thread-safe.
absl::StatusOr<CommandArguments> ParseArguments(int argc, char* argv[]);

// Returns an error that names an argument, its wrong `value` and the reason.
absl::Status BadArgument(absl::string_view argument, absl::string_view value,
                         absl::string_view why);

// The text for --help.
extern const char kUsage[];

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_ARGUMENTS_H_
