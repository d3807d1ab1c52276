// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/mirror.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_MIRROR_H_
#define WORKQUEUE_EXAMPLES_MIRROR_MIRROR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/mirror/console.h"
#include "examples/mirror/failures.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/queue_metrics.h"
#include "examples/mirror/reconciler.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree_watcher.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/metrics.h"

namespace mirror {

// Mirror
//
// A controller of paths. Its source is a watcher, which adds what changes in a
// tree; and it has a reconciler bring the copy after it.
class Mirror {
 public:
  struct Options {
    std::string from;
    std::string to;
    int workers = 4;
    // Without `watch`, the tree is mirrored as it is now.
    bool watch = true;
    absl::Duration resync = absl::Minutes(1);
    // How often to try what fails.
    int max_tries = std::numeric_limits<int>::max();
    // See `Reconciler::Hooks`.
    std::function<absl::Status(const std::string& path)> before_change;
    // What the queue and the controller report to, if not null.
    workqueue::MetricsProvider* queue_metrics = nullptr;
    workqueue::ControllerMetricsProvider* controller_metrics = nullptr;
  };

  // Starts to mirror. `console`, which must outlive the mirror, is told about
  // failures.
  static absl::StatusOr<std::unique_ptr<Mirror>> Start(Options options,
                                                       Console* console);

  // Calls `Abort()` unless the mirror has been stopped.
  ~Mirror();

  // Returns whether all is mirrored, or given up, that is known about.
  bool Finished() const;

  // Mirrors what has changed up to now, tries a last few times what has failed,
  // and stops. A signal in `signals` has it abort that; returns whether none
  // did.
  bool Stop(StopSignals& signals);

  // Stops at once, whatever is left to do.
  void Abort();

  // How it goes, in a line.
  std::string Progress() const;

  // What it has done, in some lines.
  std::string Summary() const;

  PathMap<absl::Status> failures() const { return failures_.all(); }

 private:
  Mirror(Options options, Console* console);

  // The parts of Start().
  absl::Status CreateWatcher();
  absl::Status CreateController();

  // The watcher, as the controller knows it.
  workqueue::Source<std::string> WatcherSource();

  // What the controller does with each path.
  absl::Status Reconcile(const std::string& path,
                         const workqueue::ReconcileContext& context);

  // Has `path` reconciled soon.
  void Enqueue(const std::string& path);

  // Returns whether nothing is queued or being reconciled.
  bool Quiet() const;

  // Waits for that, and first for a watcher that has been told to stop. Returns
  // false if a signal came first.
  bool AwaitQuiet(StopSignals& signals);

  const Options options_;
  Console* const console_;
  Failures failures_;
  QueueMetrics metrics_;
  std::atomic<int64_t> enqueued_{0};
  Reconciler reconciler_;
  std::unique_ptr<TreeWatcher> watcher_;  // null if there is nothing to watch
  std::unique_ptr<workqueue::Controller<std::string>> controller_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_MIRROR_H_
