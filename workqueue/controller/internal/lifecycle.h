// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/source.h"

namespace workqueue::internal {

// A `Source`, without the type of its items.
struct LifecycleSource {
  std::string name;
  std::function<absl::Status(
      const std::function<void()>& mark_synced,
      const std::function<void(const absl::Status&)>& mark_unhealthy)>
      run;
  std::optional<RestartBackoff> restart_backoff;
  std::function<void()> on_stop;  // may be null
  bool wait_for_sync = false;
};

// Lifecycle
//
// The base of a controller that starts and stops its sources and workers.
// `Controller` documents `Start()`, `Healthy()`, `Stop()` and `AwaitIdle()`,
// and `SourceContext` documents `Sleep()`.
//
// Thread-safe.
class Lifecycle {
 public:
  // The options have been checked.
  Lifecycle(const ControllerOptionsBase& options, const GivenOptions& given);

  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  const std::string& name() const { return name_; }
  Clock* clock() const { return clock_; }

  absl::Status Start();
  absl::Status Healthy() const;
  bool Stop(absl::Duration timeout);
  void AwaitIdle();

  // Stops at once, and blocks until all threads have ended. The destructor of
  // the derived class calls it.
  void Join();

  // Notified when the controller begins to stop.
  const absl::Notification& stopping() const { return stopping_; }

  // Notified when the controller no longer waits for the queued items.
  const absl::Notification& abandoning() const { return abandoning_; }

  bool Sleep(absl::Duration d);

  // A worker calls this function after each item.
  void OnItemDone();

  // Asynchronous workers call this function when they have ended.
  void OnWorkersEnded();

  // Blocks until `stands_by()` returns false, and returns true. Returns false
  // if the controller stops before. `WakeWorkers()` makes the calls look again.
  bool AwaitTerm(absl::FunctionRef<bool()> stands_by);
  void WakeWorkers();

  // Blocks until it is time for a retry, or until `over` is notified. `over`
  // must be `stopping()` or `abandoning()`.
  void AwaitRetry(const absl::Notification& over);

 protected:
  ~Lifecycle();

  // Called before anything else, by the constructor of the derived class.
  void SetSources(std::vector<LifecycleSource> sources);

 private:
  // The loop of a worker. Returns when the queue has ended or `abandoning()` is
  // notified.
  virtual void Work() = 0;
  // `Interface::Close()` of the queue. Does not block.
  virtual void CloseQueue() = 0;
  // Returns whether no item is queued or being reconciled, or an error if that
  // is not known after `timeout`, on the machine's clock.
  virtual absl::StatusOr<bool> Idle(absl::Duration timeout) = 0;
  // Returns whether the queue knows which items the workers have ended.
  virtual bool EndsAreKnown() const = 0;

  // The rest is called if the workers are asynchronous: to start them, when
  // `abandoning()` has been notified, and to tell whether the calling thread
  // runs the reconcile function. They call `OnWorkersEnded()` when `Work()`
  // would return.
  virtual void StartAsync() = 0;
  virtual void OnAbandoning() = 0;
  virtual bool ReconcilesThisThread() const = 0;

  enum class State { kNew, kStarting, kRunning, kNotRunning };

  struct SourceState;

  // The parts of Start(), in order. `sources_started` is the status of the
  // first two.
  absl::Status StartSources();
  absl::Status AwaitSync();
  absl::Status StartWorkers(const absl::Status& sources_started)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The source with the number `i` is in sync, or has returned OK.
  void MarkSynced(size_t i);

  // The source with the number `i` has reported `error`, and goes on.
  void MarkUnhealthy(size_t i, const absl::Status& error);

  // Returns the names of the sources that the start waits for, and their
  // errors.
  std::string AwaitedSources() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Notifies stopping_ and calls `on_stop` of the sources. Does nothing if
  // called before.
  void BeginStop();

  // Notifies abandoning_, if that has not been done before.
  void BeginAbandoning() ABSL_LOCKS_EXCLUDED(mu_);

  // Returns whether it is known that nothing is left to do. Asks until `until`.
  bool IsKnownIdle(absl::Time until);

  // Returns whether the calling thread runs the reconcile function or a source.
  bool RunsThisThread() const {
    return source_pool_.RunsThisThread() || worker_pool_.RunsThisThread() ||
           (async_ && ReconcilesThisThread());
  }

  // Blocks until `d` has passed, or until `over` is notified.
  void Wait(absl::Duration d, const absl::Notification& over);

  // The functions of the thread of the source with the number `i`, and of a
  // worker's thread.
  void RunSource(size_t i);
  void RunWorker();

  // Calls `run` of the source with the number `i`. Returns the error if `run`
  // returned one before the stop began, and OK otherwise.
  absl::Status RunSourceOnce(size_t i);

  // Ends the start with the error of a source, if the start is in progress.
  void FailStart(const absl::Status& error);

  const std::string name_;
  Clock* const clock_;
  // `errors_` logs the errors of sources, and `log_` what happens once.
  const Log log_;
  ErrorLog errors_;
  const size_t num_workers_;
  const absl::Duration sync_timeout_;
  const bool async_;
  std::vector<LifecycleSource> sources_;  // does not change after the start

  // Both are notified under mu_.
  absl::Notification stopping_;
  absl::Notification abandoning_;

  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kNew;
  bool end_logged_ ABSL_GUARDED_BY(mu_) = false;
  // The error of Start().
  absl::Status start_error_ ABSL_GUARDED_BY(mu_);
  std::vector<SourceState> source_states_ ABSL_GUARDED_BY(mu_);
  // The number of sources that the start waits for.
  size_t awaited_sources_ ABSL_GUARDED_BY(mu_) = 0;
  // The numbers of sources and of workers that have not returned.
  size_t running_sources_ ABSL_GUARDED_BY(mu_) = 0;
  size_t running_workers_ ABSL_GUARDED_BY(mu_) = 0;
  // How often `WakeWorkers()` has been called.
  int64_t wakes_ ABSL_GUARDED_BY(mu_) = 0;
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

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
