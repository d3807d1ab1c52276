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
// What the program says on standard error while it runs: lines that stay and,
// if that is a terminal, one below them that shows the progress.
//
// Thread-safe.
class Console {
 public:
  Console();
  ~Console() { ClearProgress(); }

  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void Line(absl::string_view text);

  // Prints `failure`, unless one with the same status code has been printed in
  // the last few seconds: a full disk fails thousands of files.
  void Failure(const absl::Status& failure);

  // Replaces the line of progress. Does nothing if there is no terminal.
  void Progress(absl::string_view text);
  void ClearProgress();

 private:
  struct Printed {
    absl::Time last = absl::InfinitePast();
    int not_printed = 0;  // since then
  };

  const bool is_terminal_;

  std::mutex mu_;
  bool progress_shown_ = false;
  absl::flat_hash_map<absl::StatusCode, Printed> printed_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_CONSOLE_H_
