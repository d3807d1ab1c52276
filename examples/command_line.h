// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/command_line.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_COMMAND_LINE_H_
#define WORKQUEUE_EXAMPLES_COMMAND_LINE_H_

#include <getopt.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace examples {

// The `val` of the help option. Parsing stops at this option.
inline constexpr int kHelp = 0;

// Parses the arguments of `main()`, which must all be options. Calls `set` for
// each option, with the option's `val` and its value, until `set` returns an
// error. `options` has the format of `getopt_long()`. The message of an error
// is one line that names the wrong argument and the reason. Not thread-safe.
absl::Status ParseCommandLine(
    int argc, char* argv[], const struct option* options,
    absl::FunctionRef<absl::Status(int val, absl::string_view value)> set);

// Parses a number from `min` to `max`, inclusive, into `*result`.
absl::Status ParseInt(absl::string_view option, absl::string_view value,
                      int min, int max, int* result);

// Parses a positive, finite duration, for example "1m30s", into `*result`.
absl::Status ParsePeriod(absl::string_view option, absl::string_view value,
                         absl::Duration* result);

// Returns an error that names `option`, its wrong `value`, and the reason
// `why`.
absl::Status BadOption(absl::string_view option, absl::string_view value,
                       absl::string_view why);

}  // namespace examples

#endif  // WORKQUEUE_EXAMPLES_COMMAND_LINE_H_
