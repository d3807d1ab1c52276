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
// An open file. Its errors contain the file's name.
class File {
 public:
  // Opens `name` in `directory` for reading. Does not follow a symbolic link,
  // and does not wait for the other end of a fifo. `description` names the file
  // in errors.
  static absl::StatusOr<File> Open(int directory, const std::string& name,
                                   std::string description);

  // Creates the file `name` in `directory` and opens it for writing. Fails if
  // `name` exists.
  static absl::StatusOr<File> Create(int directory, const std::string& name,
                                     std::string description);

  // Reads the next `size` bytes into `data` and returns how many it read. The
  // result is less than `size` only at the end of the file.
  absl::StatusOr<size_t> Read(char* data, size_t size);

  absl::Status Write(absl::string_view data);

  absl::StatusOr<struct stat> Stat() const;

  absl::Status SetPermissions(mode_t permissions);

  // Sets the modification time of the file.
  absl::Status SetModified(const struct timespec& time);

  // Closes the file. Some file systems report a failed write only here.
  absl::Status Close();

 private:
  File(Fd fd, std::string description)
      : fd_(std::move(fd)), description_(std::move(description)) {}

  Fd fd_;
  std::string description_;
};

// Both functions start at the files' current positions. They return early with
// an `absl::CancelledError` if `stop` is notified.

// Appends the rest of `from` to `to`.
absl::Status CopyContents(File& from, File& to, const absl::Notification& stop);

// Returns whether the rest of `a` equals the rest of `b`.
absl::StatusOr<bool> SameContents(File& a, File& b,
                                  const absl::Notification& stop);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_FILE_H_
