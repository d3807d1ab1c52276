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

// The `val` of an option after which no argument is looked at.
inline constexpr int kHelp = 0;

// Reads the arguments of `main()`, which are to be options only: calls `set`
// for each, with the option's `val` and its value, as long as that returns OK.
// `options` are as for `getopt_long()`. An error is one line that says which
// argument is wrong, and why.
absl::Status ParseCommandLine(
    int argc, char* argv[], const struct option* options,
    absl::FunctionRef<absl::Status(int val, absl::string_view value)> set);

// Reads a number from `min` to `max`.
absl::Status ParseInt(absl::string_view option, absl::string_view value,
                      int min, int max, int* result);

// Reads a time that is positive and finite.
absl::Status ParsePeriod(absl::string_view option, absl::string_view value,
                         absl::Duration* result);

// Returns the error that says that `option`, with this value, is wrong.
absl::Status BadOption(absl::string_view option, absl::string_view value,
                       absl::string_view why);

}  // namespace examples

#endif  // WORKQUEUE_EXAMPLES_COMMAND_LINE_H_
