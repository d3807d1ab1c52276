// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/tree.h
// -----------------------------------------------------------------------------
//
// Reads a directory tree. A path in a tree is relative to the root and has
// no slash at either end. The root itself is "". These paths are the keys of
// the work queue.

#ifndef WORKQUEUE_EXAMPLES_MIRROR_TREE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_TREE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "examples/mirror/fd.h"

namespace mirror {

enum class Kind { kAbsent, kFile, kDirectory, kSymlink, kSpecial };

// Returns the kind of a file with `mode`. Fifos, sockets and devices are
// special.
Kind KindOf(mode_t mode);

// The mode bits that a copy shares with its source. They exclude set-user-ID
// and set-group-ID, because a copy belongs to the user who runs the mirror and
// must not give that user's rights to others.
constexpr mode_t kPermissionBits = 01777;

// The result of looking up a path.
struct Entry {
  Kind kind = Kind::kAbsent;
  // The open directory that contains the path, and the path's name in it.
  // `parent` holds no descriptor if that directory does not exist.
  Fd parent;
  std::string name;
  // Not meaningful if `kind` is `kAbsent`.
  struct stat stat = {};

  mode_t permissions() const { return stat.st_mode & kPermissionBits; }
};

// Tree
//
// This class reads a directory tree. It resolves a path from the root, one
// directory at a time, and follows no symbolic link. So it never touches a file
// outside of the tree. Each call opens the root again. A missing root is an
// error, and does not count as a tree in which every path is absent.
//
// Thread-safe.
class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  // Returns the entry at `path`.
  absl::StatusOr<Entry> Look(absl::string_view path) const;

  // Opens the directory at `path`. Returns an `Fd` without a descriptor if
  // there is no directory.
  absl::StatusOr<Fd> OpenDirectory(absl::string_view path, int flags) const;

  // Returns the names in the directory at `path`, in no particular order.
  // Returns an empty list if there is no directory.
  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) const;

  // Returns `path` with the root, on one line, for use in messages.
  std::string Describe(absl::string_view path) const;

 private:
  const std::string root_;
};

// Returns the names in `directory`, which may be open with O_PATH. Returns an
// empty list if it has been removed. `description` names the directory in
// errors.
absl::StatusOr<std::vector<std::string>> ListDirectory(
    int directory, absl::string_view description);

// Returns the target of the symbolic link `name` in `directory`.
absl::StatusOr<std::string> ReadLink(int directory, const std::string& name,
                                     absl::string_view description);

std::string JoinPath(absl::string_view directory, absl::string_view name);

// Returns the path of the directory that contains `path`, which must not be the
// root.
std::string ParentOf(absl::string_view path);

// Returns `errno` as a status. The message contains the action `doing` and its
// object `description`. The status is an `absl::AbortedError` if `errno` means
// that another process changed the tree at the same time. The caller should
// then try again.
absl::Status ErrnoStatus(absl::string_view doing,
                         absl::string_view description);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_H_
