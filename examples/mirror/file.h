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

  // Reads `size` bytes at `offset` into `data` and returns how many it read.
  // The result is less than `size` only at the end of the file.
  absl::StatusOr<size_t> Read(char* data, size_t size, off_t offset) const;

  absl::Status Write(absl::string_view data, off_t offset);

  // The bytes from `begin` to before `end`.
  struct Range {
    off_t begin;
    off_t end;
  };

  // Returns the first range at or after `offset` that is not a hole. If there
  // is none, returns an empty range at the end of the file. A file system that
  // does not know holes has one range in each file.
  absl::StatusOr<Range> NextData(off_t offset) const;

  // Cuts the file or appends a hole.
  absl::Status SetSize(off_t size);

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

// Both functions skip holes without reading them. They return early with an
// `absl::CancelledError` if `stop` is notified.

// Copies the contents of `from` to the empty file `to`. Holes stay holes.
absl::Status CopyContents(const File& from, File& to,
                          const absl::Notification& stop);

// Returns whether `a` and `b` have the same contents. A hole equals zeros.
absl::StatusOr<bool> SameContents(const File& a, const File& b,
                                  const absl::Notification& stop);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_FILE_H_
