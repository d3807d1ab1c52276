// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_
#define WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"

namespace conformance {

// The outcome of replaying one trace.
struct Outcome {
  enum class Kind {
    kAsRecorded,
    kDiffers,
    kError,  // not a valid trace, or the subject cannot be created
  };

  Kind kind = Kind::kAsRecorded;
  int line = 0;         // the line of the end, the difference or the error
  std::string message;  // describes the difference or the error
};

// Replays `trace`, the contents of a file, on the subject that `create` returns
// for its first line, up to the first difference. If any line has an error,
// replays nothing.
Outcome Replay(absl::string_view trace,
               SubjectOr (*create)(const Header&) = NewSubject);

// The main function of the program. `args` does not include the program's name.
// Prints the results to `out` and the usage text to `err`. Returns the exit
// status.
int ReplayMain(const std::vector<std::string>& args, std::ostream& out,
               std::ostream& err);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_REPLAY_H_
