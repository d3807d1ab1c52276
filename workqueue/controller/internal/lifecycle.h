// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/lifecycle.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/error_log.h"
#include "workqueue/internal/log.h"
#include "workqueue/internal/worker_pool.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {

// A `Source`, without the type of its items.
struct LifecycleSource {
  std::string name;
  std::function<absl::Status(const std::function<void()>& mark_synced)> run;
  std::function<void()> on_stop;  // may be null
  bool wait_for_sync = false;
};

// The functions of a controller that its lifecycle calls.
struct LifecycleHooks {
  // The loop of a worker. It returns when the queue has ended or `abandoning()`
  // is notified.
  std::function<void()> work;
  // `Interface::Close()` of the queue. Does not block.
  std::function<void()> close_queue;
  // Returns whether no item is queued or being reconciled.
  std::function<bool()> idle;
};

// Lifecycle
//
// Starts and stops the sources and workers of a controller. `Controller`
// documents `Start()`, `Stop()` and `AwaitIdle()`.
//
// Thread-safe.
class Lifecycle {
 public:
  // `controller` is the controller's name. `log_sink` may be null. `clock` and
  // `log_sink` must outlive the object.
  Lifecycle(absl::string_view controller, LogSink* log_sink, Clock* clock,
            size_t workers, absl::Duration sync_timeout,
            std::vector<LifecycleSource> sources, LifecycleHooks hooks);

  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  absl::Status Start();
  bool Stop(absl::Duration timeout);
  void AwaitIdle();

  // Stops at once, and blocks until all threads have ended. The destructor of
  // the controller calls it.
  void Join();

  // Notified when the controller begins to stop.
  const absl::Notification& stopping() const { return stopping_; }

  // Notified when the controller no longer waits for the queued items.
  const absl::Notification& abandoning() const { return abandoning_; }

  // A worker calls this function after each item.
  void OnItemDone();

  // Blocks until it is time for a retry, or until `over` is notified. `over`
  // must be `stopping()` or `abandoning()`.
  void AwaitRetry(const absl::Notification& over);

 private:
  enum class State { kNew, kStarting, kRunning, kNotRunning };

  // The parts of Start(), in order. `sources_started` is the status of the
  // first two.
  absl::Status StartSources();
  absl::Status AwaitSync();
  absl::Status StartWorkers(const absl::Status& sources_started)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Removes `source` from the sources that the start waits for.
  void MarkSynced(const LifecycleSource& source);

  // Notifies stopping_ and calls `on_stop` of the sources. Does nothing if
  // called before.
  void BeginStop();

  // Notifies abandoning_, if that has not been done before.
  void BeginAbandoning() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool Idle() const;

  // Returns whether the calling thread runs the reconcile function or a source.
  bool RunsThisThread() const {
    return source_pool_.RunsThisThread() || worker_pool_.RunsThisThread();
  }

  // The functions of a source's thread and of a worker's thread.
  void RunSource(const LifecycleSource& source);
  void RunWorker();

  Clock* const clock_;
  // `errors_` logs the errors of sources, and `log_` what happens once.
  const Log log_;
  ErrorLog errors_;
  const size_t num_workers_;
  const absl::Duration sync_timeout_;
  const std::vector<LifecycleSource> sources_;
  const LifecycleHooks hooks_;

  // Both are notified under mu_.
  absl::Notification stopping_;
  absl::Notification abandoning_;

  absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kNew;
  bool end_logged_ ABSL_GUARDED_BY(mu_) = false;
  // The sources that the start waits for.
  std::vector<const LifecycleSource*> unsynced_ ABSL_GUARDED_BY(mu_);
  // The numbers of sources and of workers that have not returned.
  size_t running_sources_ ABSL_GUARDED_BY(mu_) = 0;
  size_t running_workers_ ABSL_GUARDED_BY(mu_) = 0;
  // The first error of a source before the workers were started and before the
  // stop began.
  absl::Status source_status_ ABSL_GUARDED_BY(mu_);
  // Signalled when a worker has ended, when abandoning_ is notified, and, if
  // idle_waiters_ is not zero, when an item is done.
  absl::CondVar item_done_;
  std::atomic<int> idle_waiters_{0};

  WorkerPool source_pool_;
  WorkerPool worker_pool_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
