// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_

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
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/failures.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

struct FailureLedgerMetrics;

namespace internal {

class AsyncWorkers;

// Makes the asynchronous workers, and starts the threads that the options ask
// for. Returns null if the reconcile function is synchronous, and an error if a
// thread cannot be started. The options have been checked.
absl::StatusOr<std::shared_ptr<AsyncWorkers>> MakeAsyncWorkers(
    const ControllerOptionsBase& options, const GivenOptions& given);

// A `Source`, without the type of its items.
struct UntypedSource {
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

// ControllerCore
//
// The part of a controller that does not depend on the type of the items: its
// sources and workers, its start and its stop (lifecycle.cc), and what follows
// from the result of a reconciliation (controller_core.cc). `Controller`
// documents `Start()`, `Healthy()`, `Stop()` and `AwaitIdle()`, and
// `SourceContext` documents `Sleep()`.
//
// If there is a loop, this is one of its clients, and makes progress with what
// does not block: sources without a thread, and asynchronous starts and stops.
//
// Thread-safe.
class ControllerCore : private WaitingLoop::Client {
 public:
  ControllerCore(const ControllerCore&) = delete;
  ControllerCore& operator=(const ControllerCore&) = delete;

  const std::string& name() const { return name_; }
  Clock* clock() const { return clock_; }
  size_t max_concurrent_reconciles() const {
    return max_concurrent_reconciles_;
  }
  absl::Duration reconcile_timeout() const { return reconcile_timeout_; }
  const FailureLedgerOptions& failure_limits() const { return limits_; }

  using StartedCallback = absl::AnyInvocable<void(absl::Status started) &&>;
  using StoppedCallback = absl::AnyInvocable<void(bool stopped) &&>;

  absl::Status Start();
  absl::Status StartAsync(StartedCallback started);
  absl::Status Healthy() const;
  bool Stop(absl::Duration timeout);
  absl::Status StopAsync(absl::Duration timeout, StoppedCallback stopped);
  void AwaitIdle();

  // Notified when the controller begins to stop.
  const sync::Notification& stopping() const { return stopping_; }

  // Notified when the controller no longer waits for the queued items.
  const sync::Notification& abandoning() const { return abandoning_; }

  // The rest is for the workers.

  // Returns whether this is the thread of the loop, if the program drives it.
  bool IsOnDrivenLoop() const {
    return driven_loop_ != nullptr && driven_loop_->IsRunHere();
  }

  // A worker calls this function after each item.
  void OnItemDone();

  // Asynchronous workers call this function when they have ended.
  void OnWorkersEnded();

  // Blocks until it is time for a retry, or until `over` is notified. `over`
  // must be `stopping()` or `abandoning()`.
  void AwaitRetry(const sync::Notification& over);

  // Returns whether to reconcile an item that has been acquired.
  bool ShouldProcess(LeasedItem& item);

  // `Term()` is the term in which a reconciliation would begin now.
  // `StandsBy(term)` tells whether none may begin in `term`, and `StandsBy()`
  // whether none may now. `HasLostTerm(term)` tells whether `term`, in which
  // one has begun, is over.
  int64_t Term() const { return term_ == nullptr ? 0 : term_(); }
  bool StandsBy(int64_t term) const { return term_ != nullptr && term == 0; }
  bool StandsBy() const { return StandsBy(Term()); }
  bool HasLostTerm(int64_t term) const {
    return term_ != nullptr && (term == 0 || term_() != term);
  }

  // Returns what the reconcile function is told of an item. It must not be told
  // another term than the one that lets it begin.
  Reconciliation::Info InfoOf(LeasedItem& item, int64_t term);

  // Record the begin and the end of a reconciliation. The latter handles the
  // result.
  void OnBegin(LeasedItem& item) const;
  AfterReconcile OnEnd(LeasedItem& item, const Reconciliation::Info& info,
                       bool threw,
                       const absl::StatusOr<ReconcileResult>& result);

  // End the lease of `item`, if it has one.
  void EndLease(LeasedItem& item) { NoteEnd(item.End(LeaseEnd::kDone)); }
  void GiveBack(LeasedItem& item) { NoteEnd(item.End(LeaseEnd::kGivenBack)); }

  // Does to the item what `after` says. Returns whether that is over; the lease
  // may have ended then.
  bool TryEnd(LeasedItem& item, const AfterReconcile& after);
  // Waits for a moment and tries again, until it is over. Blocks.
  void RetryEnd(LeasedItem& item, const AfterReconcile& after);

  // Waits for the next item for the asynchronous workers; see
  // `Interface::AcquireNextAsync()`. Before, ends the lease of `*ended`, if
  // `ended` is not null. May throw; then the lease has ended, too.
  virtual void AcquireNextAsync(LeasedItem* ended, Executor* executor,
                                std::shared_ptr<AsyncGate> to) = 0;

  // The errors of the queue.
  ErrorLog& queue_errors() { return queue_errors_; }
  LastingError& cannot_acquire() { return cannot_acquire_; }

  // Whether `error` of an acquire concerns an item that this process cannot
  // decode. Its queue has told that, and there may be others.
  bool IsOfOneItem(const absl::Status& error) const;

 protected:
  // The options have been checked. `async_workers` is null if the workers are
  // synchronous. `term` is that of a source, and may be null.
  ControllerCore(const ControllerOptionsBase& options,
                 const GivenOptions& given,
                 std::shared_ptr<AsyncWorkers> async_workers,
                 std::function<int64_t()> term);
  ~ControllerCore() override;

  // Called before anything else, by the constructor of the derived class.
  void SetSources(std::vector<UntypedSource> sources);

  // Stops at once, blocks until all threads have ended, and calls the callbacks
  // that wait. The destructor of the derived class calls it.
  void End();

  bool Sleep(absl::Duration d);

  // Whether the engine of the queue keeps the failures.
  bool shared() const { return shared_; }

  // The loop of the clock, if the program drives it, and null otherwise.
  const std::shared_ptr<WaitingLoop>& driven_loop() const {
    return driven_loop_;
  }

  // The end of `AcquireNextAsync()`. `item` is leased if `status` is OK.
  static void OnAcquired(const std::shared_ptr<AsyncGate>& to,
                         const absl::Status& status, LeasedItem& item);

  // The loop of a worker, which holds its items in `item`.
  void WorkWith(LeasedItem& item);

  // Before a stop, a lease whose end is unknown is not this process' any more.
  void NoteEnd(bool known) {
    if (!known && stopping().HasBeenNotified()) end_unknown_ = true;
  }

  // Workers that stand by look at the term again.
  void LookAtTerm();

  // Creates the metrics of a ledger, if the controller parks items.
  FailureLedgerMetrics NewLedgerMetrics() const;

  // Calls `f`, which returns an `absl::Status` or nothing, and returns whether
  // it returned OK. Logs an error or exception of `f`; `what` and `item()` tell
  // in the message what `f` does.
  template <typename F>
  bool Try(absl::string_view what, absl::FunctionRef<std::string()> item, F f) {
    return queue_errors_.Try(
        [what, &item] { return absl::StrCat(what, " ", item()); }, f);
  }
  template <typename F>
  bool Try(absl::string_view what, const LeasedItem& item, F f) {
    return Try(
        what, [&item] { return item.Describe(); }, f);
  }

 private:
  // The loop of a worker. Returns when the queue has ended or `abandoning()` is
  // notified.
  virtual void Work() = 0;
  // `Interface::Close()` of the queue. Does not block.
  virtual void CloseQueue() = 0;
  // Returns whether no item is queued or being reconciled, or an error if that
  // is not known after `timeout`, on the machine's clock.
  virtual absl::StatusOr<bool> Idle(absl::Duration timeout) = 0;
  // Returns `SharedFailures::EndsAreKnown()` of a queue that is `shared()`.
  virtual bool QueueAnswers() const = 0;
  // Returns whether the queue has not taken items that sources have added.
  virtual bool HasLostAdds() const = 0;
  // Ends the adds of sources that block. Called when `stopping()` has been
  // notified.
  virtual void EndBlockedAdds() = 0;

  enum class State { kNew, kStarting, kRunning, kNotRunning };

  struct Metrics;

  struct SourceState {
    // Whether the start waits for the source.
    bool awaited = false;
    // Whether `run` has been called and has not returned.
    bool running = false;
    // Whether `error` was reported by the source in this run.
    bool reported = false;
    // Whether the source must call mark_synced() in each run to be healthy.
    bool marks_sync = false;
    // The delays before the next runs.
    RestartDelays delays;
    // When the loop begins the next run; infinite if it does not.
    absl::Time begin_at = absl::InfiniteFuture();
    // The source's last error, until the source is healthy again. Its text
    // is as the source wrote it. Start() and Healthy() make it printable.
    absl::Status error;
  };

  // A stop in progress.
  struct StopCall {
    // What the stop waits for next.
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

  // Returns whether this is the thread of the loop, which must not wait for it.
  bool IsOnLoop() const { return loop_ != nullptr && loop_->IsRunHere(); }

  // Aborts the program if `call` would block the thread of a loop that the
  // program drives.
  void DieIfOnDrivenLoop(absl::string_view call) const;

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

  // Record that a source begins or ends a run, and that it becomes healthy or
  // unhealthy.
  void RecordSourceRuns(bool runs) const;
  void RecordSourceHealth(bool healthy) const;

  // Returns the names of the sources that the start waits for, and their
  // errors.
  std::string AwaitedSources() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

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

  // Ends the stops in progress.
  void EndStops();

  // Returns whether the queue knows which items the workers have ended.
  bool EndsAreKnown() const {
    return !shared_ || (!end_unknown_ && QueueAnswers());
  }

  // Returns whether it is known that nothing is left to do. Asks until `until`.
  bool IsKnownIdle(absl::Time until);

  // Returns whether the calling thread runs the reconcile function or a source.
  bool RunsThisThread() const;

  // Blocks until `d` has passed, or until `over` is notified.
  void Wait(absl::Duration d, const sync::Notification& over);

  // Blocks until `stands_by()` returns false, and returns true. Returns false
  // if the controller stops before. `LookAtTerm()` makes the calls look again.
  bool AwaitTerm(absl::FunctionRef<bool()> stands_by);

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

  // Whether a worker that is done ends its lease by `Acquire()`: in one request
  // to the engine. If it stands by then, it ends the lease before it waits. In
  // memory the end comes before, because `AwaitIdle()` hears of it.
  bool EndsWithNext() const { return shared_ && !stopping().HasBeenNotified(); }

  // Returns the time on the controller's clock if a timeout or a metric needs
  // it, and a constant otherwise.
  absl::Time NowIfTimed() const {
    return timed_ ? clock()->TimeNow() : absl::UnixEpoch();
  }

  void Reconcile(LeasedItem& item, int64_t term);

  AfterReconcile HandleError(LeasedItem& item, int64_t term,
                             const absl::Status& error, int failures);
  AfterReconcile HandleSuccess(LeasedItem& item, const ReconcileResult& result);

  // The failures of the item are to be forgotten. An engine is asked to at the
  // end only, and not if the item has none.
  AfterReconcile ForgetAfter(LeasedItem& item);

  // Returns whether the engine of the queue has counted the failure.
  bool TryFail(LeasedItem& item, const absl::Status& error);

  // Logs a failed reconciliation. An item may fail many times, and many items
  // may fail at the same time. So this leaves these failures out, and counts
  // them:
  //
  //   * the failures of an item, except failure 1, 2, 4, 8 and so on, and
  //     except terminal errors and the failures that park the item,
  //   * the failures above a `MessageLimit`.
  //
  // Does not throw.
  void LogFailure(absl::FunctionRef<std::string()> item, int failures,
                  const absl::Status& error, bool terminal, bool parked,
                  std::optional<absl::Duration> retry_after);

  const std::string name_;
  Clock* const clock_;
  const std::shared_ptr<WaitingLoop> loop_;  // may be null
  const std::shared_ptr<WaitingLoop> driven_loop_;
  const std::function<int64_t()> term_;
  // `source_errors_` logs the errors of sources, and `log_` what happens once.
  const Log log_;
  ErrorLog source_errors_;
  ErrorLog queue_errors_;
  LastingError cannot_acquire_;
  MessageLimit failure_limit_;
  LogSink* const log_sink_;
  const size_t num_workers_;
  const size_t max_concurrent_reconciles_;
  const absl::Duration sync_timeout_;
  const absl::Duration reconcile_timeout_;
  const FailureLedgerOptions limits_;
  const bool shared_;
  sync::Atomic<bool> end_unknown_{false};
  ControllerMetricsProvider* const metrics_provider_;  // null without metrics
  const std::unique_ptr<Metrics> metrics_;
  const bool timed_;
  const std::shared_ptr<AsyncWorkers> async_workers_;  // may be null
  // The name, for asynchronous reconciliations, which may outlive the
  // controller.
  std::shared_ptr<const std::string> shared_name_;
  std::vector<UntypedSource> sources_;  // does not change after the start
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
  // How often `LookAtTerm()` has been called.
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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_
