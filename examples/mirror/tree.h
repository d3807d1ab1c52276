// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/tree.h
// -----------------------------------------------------------------------------
//
// One of the two directory trees, as the program looks at it. What lies in a
// tree is named by its path relative to the root, without a slash at either
// end; the root itself is "". These paths are the keys of the work queue.

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

// Returns the kind of what has `mode`; fifos, sockets and devices are special.
Kind KindOf(mode_t mode);

// The mode bits that a copy shares with its source. Set-user-ID and
// set-group-ID are not among them: the copy belongs to whoever runs the mirror,
// and must not lend out their rights.
constexpr mode_t kPermissionBits = 01777;

// What is found at a path.
struct Entry {
  Kind kind = Kind::kAbsent;
  // The directory that it is in, open, and its name there. Without a `parent`
  // there is no such directory.
  Fd parent;
  std::string name;
  // Meaningless if absent.
  struct stat stat = {};

  mode_t permissions() const { return stat.st_mode & kPermissionBits; }
};

// Tree
//
// A path is looked up from the root, one directory at a time, and no symbolic
// link is followed: what is outside of the tree is never touched. The root is
// opened anew each time. If it is not there, that is an error, and not a tree
// in which everything is absent.
//
// Thread-safe.
class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }

  // Returns what is at `path`.
  absl::StatusOr<Entry> Look(absl::string_view path) const;

  // Opens the directory at `path`; returns none if there is no directory.
  absl::StatusOr<Fd> OpenDirectory(absl::string_view path, int flags) const;

  // Returns the names of what is in the directory at `path`, in no order; an
  // empty list if there is no directory.
  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) const;

  // Returns `path` as a message should show it, with the root and in one line.
  std::string Describe(absl::string_view path) const;

 private:
  const std::string root_;
};

// Returns the names of what is in `directory`, which may be open for nothing
// but its path; an empty list if it has been removed. `description` is for the
// error.
absl::StatusOr<std::vector<std::string>> ListDirectory(
    int directory, absl::string_view description);

// Returns where the symbolic link `name` in `directory` leads to.
absl::StatusOr<std::string> ReadLink(int directory, const std::string& name,
                                     absl::string_view description);

std::string JoinPath(absl::string_view directory, absl::string_view name);

// Returns the path of the directory that `path`, not the root, is in.
std::string ParentOf(absl::string_view path);

// Returns `errno` as a status that names what was done, and to what. It is an
// `absl::AbortedError` if somebody else's change of the tree got in the way:
// then the tree is to be looked at again.
absl::Status ErrnoStatus(absl::string_view doing,
                         absl::string_view description);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_H_
