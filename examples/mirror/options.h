// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/options.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_OPTIONS_H_
#define WORKQUEUE_EXAMPLES_MIRROR_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mirror {

// The settings from the command line.
struct Options {
  bool help = false;
  std::string from;  // empty for the demo
  std::string to;    // empty for the demo
  int workers = 4;
  absl::Duration resync = absl::Minutes(1);
  bool once = false;
  int demo_files = 3000;
  std::optional<int> metrics_port;  // where to serve metrics, if set
  std::string shared;  // where the queue is; empty for a queue in memory
  std::string queue = "mirror";  // the name of the queue there
};

// Returns the text of `--help`.
absl::string_view Usage();

// Parses the arguments of `main()` and checks the directories. The message of
// an error is one line that names the wrong argument and the reason.
absl::StatusOr<Options> ParseOptions(int argc, char* argv[]);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_OPTIONS_H_
