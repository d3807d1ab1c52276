// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_
#define WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace conformance {

// What came of replaying a trace.
struct Outcome {
  enum class Kind {
    kAsRecorded,
    kDiffers,
    kError,  // it is no trace, or there is nothing to replay it on
  };

  Kind kind = Kind::kAsRecorded;
  int line = 0;         // where the trace ends, differs or is in error
  std::string message;  // what differs, or the error
};

// Drives the library through `trace`, the contents of a file, up to the first
// difference. Nothing is driven if there is an error in any line.
Outcome Replay(absl::string_view trace);

// The program. `args` are without its name. Prints its findings to `out`, and
// how to use it to `err`. Returns the exit status.
int ReplayMain(const std::vector<std::string>& args, std::ostream& out,
               std::ostream& err);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_
