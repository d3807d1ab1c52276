// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/options.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_OPTIONS_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_OPTIONS_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace async_probe {

// The settings from the command line.
struct Options {
  bool help = false;
  int endpoints = 10000;
  int threads = 4;
  int in_flight = 2000;
  int seconds = 10;
  absl::Duration period = absl::Seconds(5);
  absl::Duration latency = absl::Milliseconds(500);
  absl::Duration timeout = absl::Seconds(2);
};

// Prints the text of `--help`. `program` is the name of the program.
void PrintUsage(const char* program);

// Parses the arguments of `main()` into `*options`. The message of an error is
// one line that names the wrong argument and the reason.
absl::Status ParseOptions(int argc, char* argv[], Options* options);

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_OPTIONS_H_
