// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/source.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// A `Source`, without the type of its items.
struct LifecycleSource {
  std::string name;
  std::function<absl::Status(
      const std::function<void()>& mark_synced,
      const std::function<void(const absl::Status&)>& mark_unhealthy)>
      run;  // null if run_async is not
  std::function<void(
      const std::function<void()>& mark_synced,
      const std::function<void(const absl::Status&)>& mark_unhealthy,
      SourceDone done)>
      run_async;
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
// If there is a loop, this is one of its clients, and makes progress with what
// does not block: sources without a thread, and asynchronous starts and stops.
//
// Thread-safe.
class Lifecycle : private WaitingLoop::Client {
 public:
  // The options have been checked.
  Lifecycle(const ControllerOptionsBase& options, const GivenOptions& given);

  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  const std::string& name() const { return name_; }
  Clock* clock() const { return clock_; }

  using StartedCallback = absl::AnyInvocable<void(absl::Status started) &&>;
  using StoppedCallback = absl::AnyInvocable<void(bool stopped) &&>;

  absl::Status Start();
  absl::Status StartAsync(StartedCallback started);
  absl::Status Healthy() const;
  bool Stop(absl::Duration timeout);
  absl::Status StopAsync(absl::Duration timeout, StoppedCallback stopped);
  void AwaitIdle();

  // Stops at once, and blocks until all threads have ended. Calls the callbacks
  // that wait. The destructor of the derived class calls it.
  void Join();

  // Ends the stops in progress. Called after `Join()`, too, when nothing runs
  // any more that may have begun one meanwhile.
  void EndStops();

  // Notified when the controller begins to stop.
  const sync::Notification& stopping() const { return stopping_; }

  // Notified when the controller no longer waits for the queued items.
  const sync::Notification& abandoning() const { return abandoning_; }

  bool Sleep(absl::Duration d);

  // Returns whether this is the thread of the loop, which must not wait for it;
  // or if the program drives the loop.
  bool IsOnLoop() const { return loop_ != nullptr && loop_->IsRunHere(); }
  bool IsOnDrivenLoop() const {
    return driven_loop_ != nullptr && driven_loop_->IsRunHere();
  }

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
  void AwaitRetry(const sync::Notification& over);

 protected:
  ~Lifecycle() override;

  // The loop of the clock, if the program drives it, and null otherwise.
  const std::shared_ptr<WaitingLoop>& driven_loop() const {
    return driven_loop_;
  }

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
  // Returns whether `OnItemDone()` comes after each end of an item.
  virtual bool HearsOfEnds() const = 0;
  // Returns whether the queue knows which items the workers have ended.
  virtual bool EndsAreKnown() const = 0;
  // Returns whether the queue has not taken items that sources have added.
  virtual bool HasLostAdds() const = 0;
  // Ends the adds of sources that block. Called when `stopping()` has been
  // notified.
  virtual void EndBlockedAdds() = 0;

  // Record the begin and the end of a run of a source.
  virtual void RecordSourceStart() const = 0;
  virtual void RecordSourceEnd() const = 0;
  // Records that a source has become healthy, or unhealthy.
  virtual void RecordSourceHealth(bool healthy) const = 0;

  // The rest is called if the workers are asynchronous: to start them, when
  // `abandoning()` has been notified, and to tell whether the calling thread
  // runs the reconcile function. They call `OnWorkersEnded()` when `Work()`
  // would return.
  virtual void StartAsyncWorkers() = 0;
  virtual void OnAbandoning() = 0;
  virtual bool ReconcilesThisThread() const = 0;

  enum class State { kNew, kStarting, kRunning, kNotRunning };

  struct SourceState;

  // A stop in progress.
  struct StopCall {
    // What it waits for next.
    enum class Stage { kStart, kSources, kWorkers };

    // When the wait ends in any case.
    absl::Time deadline() const {
      return stage == Stage::kStart ? absl::InfiniteFuture() : until;
    }

    absl::Time until;
    StoppedCallback callback;  // empty if a thread waits
    Stage stage = Stage::kStart;
    bool sources_returned = false;
    bool abandoned_before = false;
    bool stopped = false;  // the result
  };

  // WaitingLoop::Client. Begins the sources without a thread that are to run,
  // and goes on with the start and the stops that wait.
  absl::Time Run(absl::Time now) override;
  absl::Time NextSourceRun(absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // Something has changed that the loop may wait for.
  void WakeLoop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (loop_ != nullptr) loop_->Wake(this);
  }

  // The parts of a start, in order. `status` and `sources_started` are those of
  // `StartSources()` and `AwaitSync()`. `EndStart()` calls `StartWorkers()`,
  // and returns the status of the start.
  absl::Status BeginStart();
  absl::Status StartSources();
  absl::Status AwaitSync();
  bool Synced() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return awaited_sources_ == 0 || stopping_.HasBeenNotified();
  }
  absl::Status NotSynced() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status EndStart(absl::Status status);
  absl::Status StartWorkers(const absl::Status& sources_started)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The source with the number `i` is in sync, or has returned OK.
  void MarkSynced(size_t i);

  // The source with the number `i` has reported `error`, and goes on.
  void MarkUnhealthy(size_t i, const absl::Status& error);

  // Makes `error` that of a source. Releases mu_ meanwhile, to record it.
  void SetError(const absl::Status& error, SourceState* state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns the names of the sources that the start waits for, and their
  // errors.
  std::string AwaitedSources() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Aborts the program if `call` would block the thread of a loop that the
  // program drives.
  void DieIfOnDrivenLoop(absl::string_view call) const;

  // Stops without waiting. No start is in progress.
  void StopNow();

  // Goes on with a stop without blocking. Returns whether it is over.
  bool Advance(StopCall* call);
  bool MustWait(const StopCall& call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

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
  void Wait(absl::Duration d, const sync::Notification& over);

  // The functions of the thread of the source with the number `i`, and of a
  // worker's thread.
  void RunSource(size_t i);
  void RunWorker();

  // Begins a run of the source with the number `i`, which has no thread.
  void BeginAsyncRun(size_t i);
  void EndAsyncRun(size_t i, const absl::Status& status);

  // Record the begin and the end of a run of the source with the number `i`,
  // which has returned `status`. The latter returns the delay before the next
  // run, or nothing if none follows.
  void OnRunBegins(size_t i);
  std::optional<absl::Duration> OnRunEnds(size_t i, absl::Status status);
  // No run follows.
  void EndSource() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Ends the start with the error of a source, if the start is in progress.
  void FailStart(const absl::Status& error);

  const std::string name_;
  Clock* const clock_;
  const std::shared_ptr<WaitingLoop> loop_;  // may be null
  const std::shared_ptr<WaitingLoop> driven_loop_;
  // `errors_` logs the errors of sources, and `log_` what happens once.
  const Log log_;
  ErrorLog errors_;
  const size_t num_workers_;
  const absl::Duration sync_timeout_;
  const bool async_;
  std::vector<LifecycleSource> sources_;  // does not change after the start
  // Entered by what sources without a thread call.
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();

  // Both are notified under mu_.
  sync::Notification stopping_;
  sync::Notification abandoning_;

  mutable sync::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kNew;
  bool end_logged_ ABSL_GUARDED_BY(mu_) = false;
  // The error of Start().
  absl::Status start_error_ ABSL_GUARDED_BY(mu_);
  std::vector<SourceState> source_states_ ABSL_GUARDED_BY(mu_);
  // The callback of a start that waits for sources, and until when it waits.
  StartedCallback started_ ABSL_GUARDED_BY(mu_);
  absl::Time sync_until_ ABSL_GUARDED_BY(mu_);
  // The stops that have callbacks.
  std::list<StopCall> stops_ ABSL_GUARDED_BY(mu_);
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
  sync::CondVar item_done_;
  sync::Atomic<int> idle_waiters_{0};

  WorkerPool source_pool_;
  WorkerPool worker_pool_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LIFECYCLE_H_
