// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/reconciler.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_
#define WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_

#include <cstddef>
#include <functional>
#include <mutex>  // NOLINT(build/c++11)
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/temporary_names.h"
#include "examples/mirror/tree.h"
#include "examples/mirror/verified_files.h"

namespace mirror {

// Reconciler
//
// Makes what is at a path in one tree, the copy, like what is there in another,
// the source.
//
// It is level-triggered: it is told where to look, never what has happened. It
// looks at both sides and does what is missing, be that much, little or
// nothing. So it does no harm to be called too often, or to be called when it
// has failed halfway; and a path that changes meanwhile is put right by the
// next call.
//
// It works on one path at a time. Whatever else it finds to be looked at, it
// enqueues:
//
//   * Of a directory, all that is in it, on either side, but for files that
//     are known to be as they should. So the root stands for the whole tree.
//   * Of something whose directory has no copy yet, that directory.
//
// Files, directories and symbolic links are mirrored with their permission
// bits, and files with the time of their modification. Owners, hard links,
// extended attributes and access control lists are not. Special files are
// passed over.
//
// A file is copied under a temporary name and renamed, so that a copy always is
// the whole of what its source was at some time. If the source changes while it
// is read, that is for nothing: a file that somebody writes all the time is
// copied when it rests for as long as that takes.
//
// Thread-safe, but one path is for one thread at a time.
class Reconciler {
 public:
  struct Hooks {
    // Has `path` reconciled soon.
    std::function<void(const std::string& path)> enqueue;

    // If set, called before each change of the copy; unless it returns OK, the
    // change is not made and has failed. It is there to inject failures.
    std::function<absl::Status(const std::string& path)> before_change;
  };

  Reconciler(std::string source, std::string copy, Hooks hooks);

  // Makes the copy of `path` like its source. An error says that this is still
  // to be done:
  //
  //   - `absl::AbortedError`: somebody else changed something at the same time,
  //     so it is to be tried again soon;
  //   - `absl::CancelledError`: `stop` has been notified, which ends it early;
  //   - others as the system has them.
  absl::Status Reconcile(const std::string& path,
                         const absl::Notification& stop);

  // Returns how many special files there are in the source.
  size_t special_files() const;

 private:
  // What is at a path on both sides.
  struct Pair {
    const std::string& path;
    const absl::Notification& stop;
    Entry source;
    Entry copy;
    // Whether the directory of `copy` now has more permissions than it should.
    bool directory_opened_up = false;
  };

  absl::Status MakeLikeSource(Pair& pair);
  absl::Status MakeDirectory(Pair& pair);
  absl::Status EnqueueWhatIsIn(const Pair& pair);
  absl::Status MakeSymlink(Pair& pair);
  absl::Status MakeFile(Pair& pair);

  // Returns whether the two files have the same contents.
  absl::StatusOr<bool> ReadTheSame(const Pair& pair) const;

  // Gives the copy, of a file with the same contents, the same attributes.
  absl::Status SetAttributes(const Pair& pair);
  absl::Status SetPermissions(const Pair& pair);
  absl::Status SetModified(const Pair& pair);

  absl::Status CopyFile(Pair& pair);

  // Puts in the copy's place what `make` makes under the name that it is given.
  absl::Status Replace(
      Pair& pair,
      absl::FunctionRef<absl::Status(const std::string& name)> make);

  // Removes the copy, with all that is in it; does nothing if there is none.
  absl::Status Remove(Pair& pair);

  // Each change of the copy begins with one of these: of the copy itself, and
  // of the directory that it is in.
  absl::Status BeginChange(const Pair& pair) const;
  absl::Status BeginChangeOfDirectory(Pair& pair);

  // `path` of the source is of `kind`.
  void NoteSpecialFiles(const std::string& path, Kind kind);

  const Tree source_;
  const Tree copy_;
  const Hooks hooks_;

  TemporaryNames temporary_names_;
  VerifiedFiles verified_files_;

  mutable std::mutex mu_;
  PathMap<bool> special_files_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_
