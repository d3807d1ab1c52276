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

// What the program was asked to do.
struct Options {
  bool help = false;
  std::string from;  // empty for the demo
  std::string to;
  int workers = 4;
  absl::Duration resync = absl::Minutes(1);
  bool once = false;
  int demo_files = 3000;
  std::optional<int> metrics_port;  // where to serve metrics, if at all
};

// What `--help` prints.
absl::string_view Usage();

// Reads the arguments of `main()`, and sees that the directories will do. An
// error is one line that says which argument is wrong, and why.
absl::StatusOr<Options> ParseOptions(int argc, char* argv[]);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_OPTIONS_H_
