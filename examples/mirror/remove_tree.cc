// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/tree.h"

namespace mirror {

absl::Status RemoveTree(int directory, const std::string& name,
                        const std::string& description) {
  if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  if (errno != EISDIR) return ErrnoStatus("remove", description);

  const Fd inside(openat(directory, name.c_str(),
                         O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside.ok()) return ErrnoStatus("remove", description);
  OpenUpDirectory(inside.get());
  const absl::StatusOr<std::vector<std::string>> names =
      ListDirectory(inside.get(), description);
  if (!names.ok()) return names.status();
  for (const std::string& each : *names) {
    const absl::Status status =
        RemoveTree(inside.get(), each,
                   absl::StrCat(description, "/", absl::Utf8SafeCEscape(each)));
    if (!status.ok()) return status;
  }
  if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return ErrnoStatus("remove", description);
}

bool OpenUpDirectory(int directory) {
  if (faccessat(directory, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0 ||
      errno != EACCES) {
    return false;
  }
  struct stat stat;
  if (fstat(directory, &stat) != 0) return false;
  // `directory` may be open with O_PATH, and its permissions may not allow a
  // lookup of ".". So use a path in /proc.
  const std::string path = absl::StrCat("/proc/self/fd/", directory);
  return chmod(path.c_str(), (stat.st_mode & 07777) | 0700) == 0;
}

}  // namespace mirror
