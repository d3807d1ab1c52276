// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/reconciler.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_
#define WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
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
// This class makes the copy of a path like its source. The source and the copy
// are two directory trees.
//
// The reconciler is level-triggered. The caller passes a path, and not an
// event. The reconciler compares the path's entries in both trees, and makes
// the changes that are needed. So an unnecessary call does no harm. A call
// after a call that failed halfway does no harm either. If a path changes
// during a call, the next call corrects the copy.
//
// A call works on one path. It enqueues other paths that may need a change:
//
//   * For a directory, all paths directly in it, in either tree, except files
//     that are known to equal their copies. So the root stands for the whole
//     tree.
//   * For a path whose directory has no copy yet, that directory.
//
// The reconciler mirrors files, directories and symbolic links with their
// permission bits, and the modification times of files. A hole in a file stays
// a hole. It does not mirror owners, hard links, extended attributes or access
// control lists. It ignores special files.
//
// The reconciler copies a file under a temporary name and then renames the
// copy. So a copy always has the complete contents that its source had at some
// time. If the source changes while it is read, the copy is discarded. So a
// file that is written all the time is copied only when it stays unchanged for
// long enough to read it.
//
// Thread-safe, but the caller must ensure that no two threads reconcile the
// same path at the same time.
//
// Example:
//
//     Reconciler reconciler(from, to, std::move(hooks));
//     absl::Status status = reconciler.Reconcile("directory/file", stop);
class Reconciler {
 public:
  struct Hooks {
    // Must add `path` to the queue. An error, as of a shared queue that cannot
    // be reached, makes the reconciliation fail. So its next try enqueues the
    // path, and the path is not lost.
    std::function<absl::Status(const std::string& path)> enqueue;

    // If set, called before each change of the copy. If `before_change` returns
    // an error, the change is not made and counts as failed. The demo and the
    // tests use `before_change` to inject failures.
    std::function<absl::Status(const std::string& path)> before_change;
  };

  // `shared` says that other processes reconcile other paths of the same trees.
  // Then an unfinished copy that has changed within the last 10 seconds is
  // left alone: it may be another process'.
  Reconciler(std::string source, std::string copy, Hooks hooks,
             bool shared = false);

  // Makes the copy of `path` like its source. After an error, the copy may
  // still differ:
  //
  //   - `absl::AbortedError`: another process made a change at the same time.
  //     Try again soon.
  //   - `absl::CancelledError`: `stop` was notified, so the call ended early.
  //   - Any other error comes from the system.
  absl::Status Reconcile(const std::string& path,
                         const absl::Notification& stop);

  // Returns the number of copies made of files.
  int64_t copied_files() const { return copied_files_; }

  // Returns the number of special files seen in the source.
  size_t special_files() const;

 private:
  // The entries of a path in both trees.
  struct Pair {
    const std::string& path;
    const absl::Notification& stop;
    Entry source;
    Entry copy;
    // Whether the directory that contains `copy` was given more permissions
    // than it should have.
    bool directory_opened_up = false;
  };

  absl::Status MakeLikeSource(Pair& pair);
  absl::Status MakeDirectory(Pair& pair);
  absl::Status EnqueueWhatIsIn(const Pair& pair);
  absl::Status MakeSymlink(Pair& pair);
  absl::Status MakeFile(Pair& pair);

  // Returns whether the two files have the same contents.
  absl::StatusOr<bool> ReadTheSame(const Pair& pair) const;

  // Gives the copy the attributes of the source. Both must be files with the
  // same contents.
  absl::Status SetAttributes(const Pair& pair);
  absl::Status SetPermissions(const Pair& pair);
  absl::Status SetModified(const Pair& pair);

  absl::Status CopyFile(Pair& pair);

  // Calls `make` with a temporary name, and renames the file that `make` made
  // to the copy's name.
  absl::Status Replace(
      Pair& pair,
      absl::FunctionRef<absl::Status(const std::string& name)> make);

  // Removes the copy and everything in it. Has no effect if there is no copy.
  absl::Status Remove(Pair& pair);

  // Each change of the copy begins with a call of one of these functions. The
  // first one prepares a change of the copy itself, the second one a change of
  // the directory that contains the copy.
  absl::Status BeginChange(const Pair& pair) const;
  absl::Status BeginChangeOfDirectory(Pair& pair);

  // Records that `path` of the source is of `kind`.
  void NoteSpecialFiles(const std::string& path, Kind kind);

  const Tree source_;
  const Tree copy_;
  const Hooks hooks_;
  const bool shared_;

  std::atomic<int64_t> copied_files_{0};
  TemporaryNames temporary_names_;
  VerifiedFiles verified_files_;

  mutable std::mutex mu_;
  PathMap<bool> special_files_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_RECONCILER_H_
