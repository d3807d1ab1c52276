// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/file.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_FILE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_FILE_H_

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/fd.h"

namespace mirror {

// File
//
// An open file whose errors name it.
class File {
 public:
  // Opens `name` in `directory` for reading. Does not follow a symbolic link,
  // nor wait for the other end of a fifo.
  static absl::StatusOr<File> Open(int directory, const std::string& name,
                                   std::string description);

  // Creates `name` in `directory`, where there is nothing yet, for writing.
  static absl::StatusOr<File> Create(int directory, const std::string& name,
                                     std::string description);

  // Reads on, up to `size` bytes; returns fewer only at the end of the file.
  absl::StatusOr<size_t> Read(char* data, size_t size);

  absl::Status Write(absl::string_view data);

  absl::StatusOr<struct stat> Stat() const;

  absl::Status SetPermissions(mode_t permissions);

  // Sets when the file was modified.
  absl::Status SetModified(const struct timespec& time);

  // Closing is when some file systems report what went wrong in writing.
  absl::Status Close();

 private:
  File(Fd fd, std::string description)
      : fd_(std::move(fd)), description_(std::move(description)) {}

  Fd fd_;
  std::string description_;
};

// Both of these start where the files are, and end early with an
// `absl::CancelledError` when `stop` is notified.

// Appends what is left of `from` to `to`.
absl::Status CopyContents(File& from, File& to, const absl::Notification& stop);

// Returns whether what is left of `a` and of `b` is the same.
absl::StatusOr<bool> SameContents(File& a, File& b,
                                  const absl::Notification& stop);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_FILE_H_
