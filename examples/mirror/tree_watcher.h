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
// Tells which paths of a tree have changed, by inotify(7), which watches single
// directories, not trees. So a directory that appears, new or moved here, is
// watched first and reported then: whoever lists it on that report sees what
// was in it before it was watched, and what comes later is an event.
//
// What can be missed all the same, as when the system drops events, is found by
// a resync: it watches each directory that should be, and reports each. One is
// made at the start, from time to time, and when the system says that it has
// dropped something.
//
// Thread-safe, but all of its work is done by the thread that calls `Run()`.
class TreeWatcher {
 public:
  struct Options {
    // How often to make a resync.
    absl::Duration resync = absl::Minutes(1);

    // Called when `path` may have changed; for a directory, anything in it may
    // have.
    std::function<void(const std::string& path)> on_change;

    // Told why a directory can't be watched, if set.
    std::function<void(const absl::Status&)> on_failure;
  };

  // Returns a watcher of the tree at `root`.
  static absl::StatusOr<std::unique_ptr<TreeWatcher>> Create(std::string root,
                                                             Options options);

  // Watches the tree until `Stop()` is called, and reports what has happened up
  // to then. To be called once.
  void Run();

  // Ends `Run()`, but does not wait for that.
  void Stop();

  // As `Stop()`, but what has not been reported by then is left out.
  void Cancel();

  // Returns whether `Run()` has reported the last change.
  bool ended() const { return ended_.HasBeenNotified(); }

  // Returns how many events the system has reported.
  int64_t events() const { return events_; }

 private:
  TreeWatcher(std::string root, Options options, Fd inotify, Fd stop);

  void Resync();

  // Handles the events that there are by now.
  void HandleEvents();
  void Handle(const struct inotify_event& event);

  // Watches the directory at `path` and those below it, if there are any, and
  // reports each. Reports `path` in any case.
  void Watch(const std::string& path);
  void AddWatch(const Fd& directory, const std::string& path);

  // No longer watches `path` and what is below it.
  void Unwatch(const std::string& path);

  const Tree tree_;
  const Options options_;
  const Fd inotify_;
  const Fd stop_;  // an eventfd(2), readable when it is time to stop
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> events_{0};
  absl::Notification ended_;

  // These belong to the thread of Run(). A watch stays with its directory when
  // that is moved; `path_of_` has it where it was seen last. The two agree.
  absl::flat_hash_map<int, std::string> path_of_;
  PathMap<int> watch_at_;
  absl::flat_hash_set<int> seen_;  // by the resync in progress
  bool all_watched_ = true;        // as of the last resync
  bool resync_needed_ = false;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_WATCHER_H_
