// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/console.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_CONSOLE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_CONSOLE_H_

#include <mutex>  // NOLINT(build/c++11)

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mirror {

// Console
//
// This class writes the program's messages to standard error while the program
// runs. If standard error is a terminal, a line that shows the progress follows
// below the messages.
//
// Thread-safe.
class Console {
 public:
  Console();
  ~Console() { ClearProgress(); }

  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void Line(absl::string_view text);

  // Prints `failure`, unless a failure with the same status code was printed in
  // the last 10 seconds. A full disk, for example, makes thousands of files
  // fail.
  void Failure(const absl::Status& failure);

  // Replaces the progress line. Has no effect if standard error is no terminal.
  void Progress(absl::string_view text);
  void ClearProgress();

 private:
  struct Printed {
    absl::Time last = absl::InfinitePast();
    int not_printed = 0;  // failures since the last one printed
  };

  const bool is_terminal_;

  std::mutex mu_;
  bool progress_shown_ = false;
  absl::flat_hash_map<absl::StatusCode, Printed> printed_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_CONSOLE_H_
