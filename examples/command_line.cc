// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/command_line.h"

#include <getopt.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace examples {

absl::Status ParseCommandLine(
    int argc, char* argv[], const struct option* options,
    absl::FunctionRef<absl::Status(int val, absl::string_view value)> set) {
  opterr = 0;  // This file writes its own messages.
  optind = 0;  // Resets getopt_long(), in case it was called before.
  while (true) {
    const int current = optind == 0 ? 1 : optind;
    const int val = getopt_long(argc, argv, "+:", options, nullptr);
    if (val == -1) break;
    if (val == ':') return BadOption(argv[current], "", "requires a value");
    if (val == '?') {
      return BadOption(argv[current], "",
                       "unknown flag, or a value for a flag without one");
    }
    absl::Status status = set(val, optarg != nullptr ? optarg : "");
    if (!status.ok() || val == kHelp) return status;
  }
  if (optind < argc) return BadOption(argv[optind], "", "unexpected argument");
  return absl::OkStatus();
}

absl::Status ParseInt(absl::string_view option, absl::string_view value,
                      int min, int max, int* result) {
  if (absl::SimpleAtoi(value, result) && min <= *result && *result <= max) {
    return absl::OkStatus();
  }
  return BadOption(option, value,
                   absl::StrCat("must be an integer from ", min, " to ", max));
}

absl::Status ParsePeriod(absl::string_view option, absl::string_view value,
                         absl::Duration* result) {
  if (absl::ParseDuration(value, result) && *result > absl::ZeroDuration() &&
      *result < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return BadOption(option, value,
                   "must be a positive time, for example 90s or 1h30m");
}

absl::Status BadOption(absl::string_view option, absl::string_view value,
                       absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(absl::Utf8SafeCEscape(option), value.empty() ? "" : "=",
                   absl::Utf8SafeCEscape(value), ": ", why));
}

}  // namespace examples
