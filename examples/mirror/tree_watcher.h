// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/tree_watcher.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_TREE_WATCHER_H_
#define WORKQUEUE_EXAMPLES_MIRROR_TREE_WATCHER_H_

#include <sys/inotify.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/tree.h"

namespace mirror {

// TreeWatcher
//
// This class reports which paths of a tree have changed. It uses inotify(7),
// which watches single directories and not trees. If a directory is created in
// the tree or moved into it, the watcher first watches the directory and then
// reports it. So no change is lost: a caller that lists the directory after the
// report sees each change before the watch, and later changes are events.
//
// The watcher can still miss changes, for example when the system drops events.
// A resync finds these changes: it watches every directory of the tree and
// reports it. A resync takes place at the start, at regular intervals, and
// after the system has dropped events.
//
// Thread-safe. The thread that calls `Run()` does all of the work and makes all
// callbacks.
//
// Example:
//
//     auto watcher = TreeWatcher::Create("/some/tree", options);
//     if (!watcher.ok()) return watcher.status();
//     std::thread thread([&] { (*watcher)->Run(); });
//     // ...
//     (*watcher)->Stop();
//     thread.join();
class TreeWatcher {
 public:
  struct Options {
    // The time between two resyncs.
    absl::Duration resync = absl::Minutes(1);

    // Called when `path` may have changed. If `path` is a directory, any path
    // directly in it may have changed, too.
    std::function<void(const std::string& path)> on_change;

    // If set, called with the reason why a directory cannot be watched.
    std::function<void(const absl::Status&)> on_failure;
  };

  // Creates a watcher of the tree at `root`.
  static absl::StatusOr<std::unique_ptr<TreeWatcher>> Create(std::string root,
                                                             Options options);

  // Watches the tree. Blocks until `Stop()` or `Cancel()` is called. After
  // `Stop()`, first reports the changes made up to that call. Call it once.
  void Run();

  // Makes `Run()` return. Does not block.
  void Stop();

  // Makes `Run()` return, and drops the changes that `Run()` has not reported
  // yet. Does not block.
  void Cancel();

  // Returns whether `Run()` has reported all directories that existed at its
  // start.
  bool synced() const { return synced_; }

  // Returns whether `Run()` has reported the last change.
  bool ended() const { return ended_.HasBeenNotified(); }

  // Returns the number of events received from the system.
  int64_t events() const { return events_; }

 private:
  TreeWatcher(std::string root, Options options, Fd inotify, Fd stop);

  void Resync();

  // Handles the events that have arrived by now.
  void HandleEvents();
  void Handle(const struct inotify_event& event);

  // Reports `path`. If it is a directory, first watches it and then all
  // directories below it, and reports each of these.
  void Watch(const std::string& path);
  void AddWatch(const Fd& directory, const std::string& path);

  // Records that a directory cannot be watched, or what is in it, and reports
  // the reason.
  void NoteUnwatched(const absl::Status& reason);

  // Stops watching `path` and everything below it.
  void Unwatch(const std::string& path);

  const Tree tree_;
  const Options options_;
  const Fd inotify_;
  const Fd stop_;  // an eventfd(2), readable once Run() must return
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> synced_{false};
  std::atomic<int64_t> events_{0};
  absl::Notification ended_;

  // Only the thread of Run() uses these members. A watch stays with its
  // directory when the directory is moved. `path_of_` has the last known path
  // of each watch's directory. `watch_at_` is its inverse.
  absl::flat_hash_map<int, std::string> path_of_;
  PathMap<int> watch_at_;
  absl::flat_hash_set<int> seen_;  // watches seen by the current resync
  bool all_watched_ = true;        // result of the last resync
  bool resync_needed_ = false;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_WATCHER_H_
