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
#include "examples/mirror/inspection.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/queue_metrics.h"
#include "examples/mirror/reconciler.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree_watcher.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"

namespace mirror {

// Mirror
//
// This class is the program's controller. Its keys are paths. Its source is a
// `TreeWatcher`, which adds the paths that change in the source tree. Its
// workers call a `Reconciler`, which updates the copy.
class Mirror {
 public:
  // The delays of a failed path: the first one, which doubles, and the longest.
  static constexpr absl::Duration kFirstRetry = absl::Milliseconds(5);
  static constexpr absl::Duration kLongestRetry = absl::Seconds(10);

  // A queue that other processes use, too, which mirror the same tree.
  struct SharedQueue {
    std::unique_ptr<workqueue::RateLimitingInterface<std::string>> queue;
    // Returns whether no process has anything left to do. Called until the
    // queue is destroyed.
    std::function<bool()> idle;
  };

  struct Options {
    std::string from;
    std::string to;
    int workers = 4;
    // If false, the tree is mirrored once, as it is now.
    bool watch = true;
    absl::Duration resync = absl::Minutes(1);
    // The number of tries after which a failing path is given up.
    int max_tries = std::numeric_limits<int>::max();
    // See `Reconciler::Hooks`.
    std::function<absl::Status(const std::string& path)> before_change;
    // If set, makes the queue. If empty, the queue is in this process' memory.
    std::function<absl::StatusOr<SharedQueue>(workqueue::MetricsProvider*)>
        make_queue;
    // If not null, receives the metrics of the queue and the controller.
    workqueue::MetricsProvider* queue_metrics = nullptr;
    workqueue::ControllerMetricsProvider* controller_metrics = nullptr;
    // If not null, shows the controller, with the history of its paths.
    workqueue::InspectionRegistry* inspection = nullptr;
  };

  // Starts to mirror. Reports failures to `console`, which must outlive the
  // mirror.
  static absl::StatusOr<std::unique_ptr<Mirror>> Start(Options options,
                                                       Console* console);

  // Calls `Abort()` unless the mirror has stopped.
  ~Mirror();

  // Returns whether every known path is mirrored or has been given up.
  bool Finished() const;

  // Returns whether the copy is like the source, as far as the mirror knows.
  // Always false if the tree is not watched.
  bool InSync() const;

  // Mirrors all changes made up to now, tries failed paths a few more times,
  // and stops. A signal in `signals` aborts the call. Returns false if the call
  // was aborted. Leaves a shared queue to the other processes as it is, and
  // only ends what this process has begun.
  bool Stop(StopSignals& signals);

  // Cancels the reconciliations in progress, drops all queued paths, and blocks
  // until the reconciliations have ended.
  void Abort();

  // Returns one line that describes the progress.
  std::string Progress() const;

  // Returns some lines that describe what was done.
  std::string Summary() const;

  PathMap<absl::Status> failures() const { return failures_.all(); }

 private:
  Mirror(Options options, Console* console);

  // The steps of Start().
  absl::Status CreateWatcher();
  absl::Status CreateController();

  // Returns the watcher as a source for the controller.
  workqueue::Source<std::string> WatcherSource();

  // The controller's reconcile function.
  absl::Status Reconcile(const std::string& path,
                         const workqueue::ReconcileContext& context);

  // Adds `path` to `queue`.
  absl::Status Enqueue(workqueue::RateLimitingInterface<std::string>& queue,
                       const std::string& path);

  // Adds `path`, which the watcher reports, to the queue of its source.
  void EnqueueChange(const std::string& path);

  // Returns whether no path is queued or being reconciled.
  bool Quiet() const;

  // Stops the controller while other processes go on. Returns false if a signal
  // came first, and something was left.
  bool StopShared(StopSignals& signals);

  // Blocks until a watcher that was told to stop has ended and the mirror is
  // quiet. Returns false if a signal came first.
  bool AwaitQuiet(StopSignals& signals);

  bool shared() const { return idle_ != nullptr; }

  const Options options_;
  Console* const console_;
  Failures failures_;
  QueueMetrics metrics_;
  std::atomic<int64_t> enqueued_{0};
  std::atomic<int64_t> failed_reconciles_{0};
  Reconciler reconciler_;
  std::function<bool()> idle_;  // `SharedQueue::idle`; null without one
  std::unique_ptr<TreeWatcher> watcher_;  // null if the tree is not watched
  // `SourceContext::queue`. Only the thread of the watcher uses it.
  workqueue::RateLimitingInterface<std::string>* source_queue_ = nullptr;
  std::unique_ptr<workqueue::Controller<std::string>> controller_;
  std::unique_ptr<Inspection> inspection_;  // null if nobody inspects
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_MIRROR_H_
