// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_CONTROLLER_H_
#define WORKQUEUE_CONTROLLER_CONTROLLER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/async_workers.h"
#include "workqueue/controller/internal/failure_log.h"
#include "workqueue/controller/internal/kept_adds.h"
#include "workqueue/controller/internal/ledger_failures.h"
#include "workqueue/controller/internal/lifecycle.h"
#include "workqueue/controller/internal/reconcile_metrics.h"
#include "workqueue/controller/internal/reconciliation.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/retry_after.h"
#include "workqueue/snapshot.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {

// Controller
//
// A controller owns a queue and a number of workers. The workers call a
// reconcile function with each item of the queue, and call it again until it
// succeeds. The rules are those of controller-runtime:
//
//   * At most one worker reconciles an item at a time. If an item is added
//     while it is being reconciled, it is reconciled again.
//   * After an error, the controller adds the item again, rate-limited and at
//     its priority. After a `RetryAfterError()`, the error chooses the delay,
//     up to the rate limiter's maximum. After a `TerminalError()`, the
//     controller does not add the item again. An exception counts as an error.
//   * After an error, the controller parks the item instead if
//     `ControllerOptions::failures` says so. controller-runtime has no such
//     option. The rate limiter then forgets the item.
//   * After a success, the rate limiter forgets the item. If
//     `ReconcileResult::requeue_after` is not zero, the controller adds the
//     item again after that time, at once if it is negative.
//     controller-runtime ignores a negative one.
//
// Example:
//
//     workqueue::ControllerOptions<std::string> options;
//     options.name = "deployments";
//     options.workers = 2;
//     options.reconcile = [](const std::string& key) -> absl::Status {
//       return Deploy(key);  // The controller tries again after an error.
//     };
//     auto controller =
//         workqueue::Controller<std::string>::Create(std::move(options));
//     if (!controller.ok()) return controller.status();
//     absl::Status started = (*controller)->Start();
//     ...
//     (*controller)->queue().Add("default/web");
//     ...
//     (*controller)->Stop();
//
// Leader election is a source of the controller: see `Source::term`. Unlike in
// controller-runtime, sources run in a process that stands by, as if it had
// `EnableWarmup`.
//
// Unlike in controller-runtime, the rate limiter also forgets an item after a
// terminal error, because no other code would make it forget the item.
//
// If the queue throws or returns an error when a worker gets an item or adds an
// item again, the worker logs the error and tries again a second later. The
// worker keeps the item that it adds again until the queue has taken it. (If
// the rate limiter of a given queue counted a failure before the queue threw,
// it counts the failure once more.) Exceptions of `Forget()` and
// `NumRequeues()` are logged.
//
// A worker ends when the queue returns `absl::CancelledError`, because the
// queue has been closed or shut down. No other error of the queue ends a
// worker.
//
// `T` is copyable. `Hash` and `Eq` are those of the queue that the controller
// makes: equal items must have equal hashes.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class Controller final : private internal::LifecycleClient,
                         private internal::AsyncClient<T> {
 public:
  // Returns `absl::InvalidArgumentError`, which names the field and its value,
  // if an option is out of its range or contradicts another one. Returns
  // `absl::InternalError`, with the text of the exception, if the queue's
  // thread cannot be started or a metrics provider throws.
  static absl::StatusOr<std::unique_ptr<Controller>> Create(
      ControllerOptions<T> options);

  // Calls `Stop(absl::ZeroDuration())`, and blocks until all threads have
  // ended. The reconcile function and the sources must not destroy the
  // controller.
  ~Controller() {
    kept_adds_.Stop();
    lifecycle_.Join();
    if (async_workers_ != nullptr) async_workers_->Close();
  }

  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Starts the sources, blocks until they are in sync, and starts the workers.
  // A controller can be started once.
  //
  // After an error, the controller is stopped. The errors are:
  //
  //   * the error of a source, if a source fails,
  //   * `absl::DeadlineExceededError` if a source is not in sync within
  //     `sync_timeout`,
  //   * `absl::ResourceExhaustedError` if a thread cannot be started,
  //   * `absl::CancelledError` if the controller is stopped during the start,
  //   * `absl::FailedPreconditionError` if the controller has been started or
  //     stopped before. Such a call does not stop a controller that runs.
  //
  // The message of the error is a single line, as that of `Healthy()`.
  absl::Status Start() { return lifecycle_.Start(); }

  // Returns OK if the controller does its work, and otherwise the reason why it
  // does not. For a probe that tells whether a service is ready. The reasons
  // are, in this order:
  //
  //   * `Start()` has failed: its error,
  //   * `absl::FailedPreconditionError`: the controller has not been started,
  //   * `absl::CancelledError`: the controller has begun to stop,
  //   * `absl::UnavailableError`: the controller is starting,
  //   * `absl::UnavailableError`: the queue has been shut down or closed, so
  //     that workers have ended,
  //   * a source has ended with an error: this error,
  //   * a source is being restarted after an error: this error,
  //   * a source has called `mark_unhealthy()`: this error,
  //   * `absl::UnavailableError`: the queue has not taken items of sources, see
  //     `SourceContext::queue`,
  //   * the queue does not reach its engine: the error of
  //   `Interface::Healthy()`.
  //
  // The message names the controller and the sources. It is a single line:
  // control characters are escaped, and the message of each error is cut after
  // 1024 bytes. A restarted source is healthy again when it calls
  // `mark_synced()`, or, if it has never called it and `Source::wait_for_sync`
  // is not set, when its `run` is called again. A source that has returned OK
  // is healthy. Failed reconciliations do not count.
  //
  // Never waits for a source or for the reconcile function. Takes constant time
  // per source.
  absl::Status Healthy() const {
    absl::Status status = lifecycle_.Healthy();
    status.Update(kept_adds_.Healthy());
    return status;
  }

  // Stops the controller:
  //
  //   1. Tells the sources to stop, and blocks until they have returned.
  //   2. Closes the queue. This drops the waiting items. From then on, an item
  //      that fails is not tried again.
  //   3. Blocks until all queued items have been reconciled.
  //
  // Blocks no longer than `timeout`, measured on the controller's clock. When
  // `timeout` has passed, the queue is closed in any case. If items are left to
  // reconcile, `Stop()` then notifies `ReconcileContext::stop`. Items that no
  // worker has begun to reconcile stay in the queue. Reconciliations in
  // progress go on, and the destructor waits for them. Those that then end with
  // an error give their items back to the queue.
  //
  // A queue that the controller makes is destroyed with the controller. A queue
  // whose items live elsewhere keeps them there, and `Stop()` does not wait for
  // them: see `Interface::Close()`.
  //
  // Returns true if all sources have returned and no item is left for this
  // controller to reconcile. An item that was reconciled without success does
  // not count as left, nor does any item if this process does not lead: see
  // `Source::term`.
  //
  // May be called from any thread and more than once. If the `timeout` of one
  // call passes, other calls that wait for the queued items return, too. If
  // the reconcile function or a source calls `Stop()`, the controller begins to
  // stop, and `Stop()` returns false without waiting.
  bool Stop(absl::Duration timeout = absl::InfiniteDuration()) {
    return lifecycle_.Stop(timeout) && !kept_adds_.HasLost();
  }

  // Returns the queue. Items may be added to it before and after the start. The
  // controller owns the queue.
  RateLimitingInterface<T>& queue() { return *queue_; }

  // Returns the failures of the items, and the items that are parked: those of
  // the whole queue, if its engine keeps them, and otherwise those of this
  // controller. The controller records failures, and forgets them after a
  // success. To put a parked item back:
  //
  //     controller->failures().Unpark("default/web");
  Failures<T>& failures() {
    if (shared_failures_ != nullptr) return *shared_failures_;
    return *own_failures_;
  }

  // Return a copy of the contents of the queue, or an error, as the functions
  // of `Interface` of these names do, with the failures that `failures()`
  // knows. For debugging. If a look-up in the failures throws, they log the
  // exception, and leave out the error.
  absl::StatusOr<Snapshot<T>> TakeSnapshot() {
    return TakeSnapshotWith(SnapshotOptions<T>());
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotUpTo(size_t max) {
    SnapshotOptions<T> options;
    options.max = max;
    return TakeSnapshotWith(options);
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotOf(const T& item) {
    SnapshotOptions<T> options;
    options.only = std::addressof(item);
    return TakeSnapshotWith(options);
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) {
    auto snapshot = queue_->TakeSnapshotWith(options);
    if (snapshot.ok() && own_failures_ != nullptr) {
      AddFailures(options, &*snapshot);
    }
    return snapshot;
  }

  // Makes `failures()` and the rate limiter of the queue forget the failures of
  // `item`, so that the delay after its next failure is short. Does not change
  // when an item that waits is tried again. An item that is parked stays
  // parked. Logs an exception of the queue.
  void Forget(const T& item);

  // Return options of the controller: its name, the maximum number of items
  // that are reconciled at the same time, the maximum time of a reconciliation,
  // and when an item is parked.
  const std::string& name() const { return name_; }
  size_t max_concurrent_reconciles() const {
    return max_concurrent_reconciles_;
  }
  absl::Duration reconcile_timeout() const { return reconcile_timeout_; }
  const FailureLedgerOptions& failure_limits() const { return limits_; }

  // For tests. Blocks until no item is queued or being reconciled. Waiting
  // items do not count. After a `Stop()` whose timeout has passed, blocks
  // until all workers have ended.
  //
  // The controller's own workers wake the call. Other consumers of the queue do
  // not. The caller must ensure that the controller has been started. The
  // reconcile function must not call `AwaitIdle()`.
  void AwaitIdle() { lifecycle_.AwaitIdle(); }

 private:
  // The most threads that call a queue on an engine for asynchronous
  // reconciliations. Such a queue sends one request at a time, with all calls
  // that wait. So each request ends up to so many items.
  static constexpr size_t kEngineThreads = 8;

  // The other parameters become the members of their names.
  Controller(ControllerOptions<T> options, std::unique_ptr<ThreadPool> pool,
             std::unique_ptr<ThreadPool> engine_calls,
             std::unique_ptr<Scheduler> deadlines);

  static absl::StatusOr<std::unique_ptr<ThreadPool>> NewPool(
      const ControllerOptions<T>& options, size_t threads);

  // Makes the ledger, unless the queue's engine keeps the failures. `options`
  // have been checked.
  void MakeLedger(const ControllerOptions<T>& options);

  // Returns the rate limiter in `options`, for a new queue. If there is none,
  // first puts the default one there. Returns null if there is a queue.
  static RateLimiter<T>* RateLimiterOf(ControllerOptions<T>& options);

  // Returns the queue in `options`, or a new one.
  static std::unique_ptr<RateLimitingInterface<T>> QueueOf(
      ControllerOptions<T>& options);

  static Clock* ClockOf(const ControllerOptions<T>& options) {
    return internal::ClockOf(
        options, options.queue == nullptr ? nullptr : options.queue->clock());
  }

  // Returns the term of the source that has one.
  static std::function<int64_t()> TakeTerm(std::vector<Source<T>>& sources) {
    for (Source<T>& source : sources) {
      if (source.term != nullptr) return std::move(source.term);
    }
    return nullptr;
  }

  // Returns `sources` without the type of their items.
  std::vector<internal::LifecycleSource> Erase(std::vector<Source<T>> sources);

  // Makes the asynchronous workers, if `options` have an asynchronous reconcile
  // function.
  void MakeAsyncWorkers(ControllerOptions<T>& options);

  // LifecycleClient:
  void Work() override;
  void CloseQueue() override {
    queue_->Close();
    if (async_workers_ != nullptr) async_workers_->GoOn();
  }
  absl::StatusOr<bool> Idle(absl::Duration timeout) override;
  void StartAsync() override { async_workers_->Start(); }
  void OnAbandoning() override { async_workers_->CancelAll(); }
  bool ReconcilesThisThread() override {
    return async_workers_->RunsThisThread();
  }

  // AsyncClient:
  bool ShouldProcess(const T& item) override;
  bool StandsBy() const override { return term_ != nullptr && term_() == 0; }
  bool HasLostTerm(int64_t term) const override {
    return term_ != nullptr && (term == 0 || term_() != term);
  }
  bool Stops() const override {
    return lifecycle_.stopping().HasBeenNotified();
  }
  internal::Reconciliation::Info InfoOf(const Lease<T>& lease) override;
  void OnBegin(const Lease<T>& lease) override {
    metrics_.RecordStart(lease.is_retry());
  }
  internal::AfterReconcile OnEnd(
      const Lease<T>& lease, const internal::Reconciliation::Info& info,
      bool threw, const absl::StatusOr<ReconcileResult>& result) override {
    return Handle(lease, info.begun_at, info.clock_deadline, info.failures,
                  info.term, threw, result);
  }
  bool TryEnd(Lease<T>* lease, const internal::AfterReconcile& after) override;
  void RetryEnd(Lease<T>* lease,
                const internal::AfterReconcile& after) override;
  void LogQueueError(absl::string_view what, const absl::Status& why) override {
    queue_errors_.Write([what] { return std::string(what); }, why);
  }
  void AwaitRetry() override { lifecycle_.AwaitRetry(lifecycle_.abandoning()); }
  void AwaitRetryOfEnd() override {
    lifecycle_.AwaitRetry(lifecycle_.stopping());
  }
  void OnItemDone() override { lifecycle_.OnItemDone(); }
  void OnWorkersEnded() override { lifecycle_.OnWorkersEnded(); }

  // Adds what the ledger knows to a snapshot of the queue.
  void AddFailures(const SnapshotOptions<T>& options, Snapshot<T>* snapshot);

  // Returns the present term, or zero if the controller needs none or has none.
  int64_t Term() const { return term_ == nullptr ? 0 : term_(); }

  // Returns the token of a reconciliation in `term`.
  static int64_t TokenOf(const Lease<T>& lease, int64_t term) {
    const int64_t token = lease.token();
    return token != 0 ? token : term;
  }

  void Reconcile(Lease<T>& lease);

  // Handles the result of a reconciliation that began at `begin` in `term`.
  internal::AfterReconcile Handle(
      const Lease<T>& lease, absl::Time begin, absl::Time deadline,
      int failures, int64_t term, bool threw,
      const absl::StatusOr<ReconcileResult>& result);
  internal::AfterReconcile HandleError(const Lease<T>& lease, int64_t term,
                                       const absl::Status& error, int failures);
  internal::AfterReconcile HandleSuccess(const Lease<T>& lease,
                                         const ReconcileResult& result);

  // The failures of an item are to be forgotten. An engine is asked to at the
  // end only, and not if the item has none.
  internal::AfterReconcile ForgetAfter(const Lease<T>& lease);

  // Records the failure of `item` in the ledger. Returns whether it is now
  // parked.
  bool RecordFailure(const T& item, const absl::Status& error);

  // Return whether the queue has taken the item again, and whether its engine
  // has counted the failure.
  bool TryAddAgain(const T& item, const AddOptions& options);
  bool TryFail(Lease<T>* lease, const absl::Status& error);

  // The number of failures of the item of `lease` so far.
  int FailuresOf(const Lease<T>& lease);

  // Returns the time after which the rate limiter lets `item`, which has
  // failed, be tried again. `asked` is the delay that the error chose, if it
  // did. Returns nothing if the queue must ask its rate limiter.
  std::optional<absl::Duration> ChooseDelay(
      const T& item, std::optional<absl::Duration> asked);

  // Calls `f`, and returns whether it returned OK. Logs an error or exception
  // of `f`; `what` and `item` tell in the message what `f` does.
  bool Try(absl::string_view what, const T& item,
           absl::FunctionRef<absl::Status()> f);

  // Returns the time on the controller's clock if a timeout or a metric needs
  // it, and a constant otherwise.
  absl::Time NowIfTimed() const {
    return timed_ ? clock_->TimeNow() : absl::UnixEpoch();
  }

  const std::string name_;
  const ReconcileFunction<T> reconcile_;
  const std::function<int64_t()> term_;  // of a source; may be null
  Clock* const clock_;
  const absl::Duration reconcile_timeout_;
  const size_t max_concurrent_reconciles_;
  internal::ErrorLog queue_errors_;
  internal::FailureLog failure_log_;
  const FailureLedgerOptions limits_;
  internal::ReconcileMetrics metrics_;
  const bool timed_;
  // The rate limiter of the queue that the controller has made; null if the
  // queue was given. The queue owns it.
  RateLimiter<T>* const rate_limiter_;
  // The executor of asynchronous reconciliations, if it is the controller's.
  // Destroyed after the queue, which uses it.
  const std::unique_ptr<ThreadPool> pool_;
  // Calls the queue for asynchronous reconciliations; null if it has no engine.
  const std::unique_ptr<ThreadPool> engine_calls_;
  const std::unique_ptr<RateLimitingInterface<T>> queue_;
  // Where the failures are: in the engine of the queue, or in this process. One
  // of these is null.
  SharedFailures<T>* const shared_failures_;
  std::unique_ptr<internal::LedgerFailures<T, Hash, Eq>> own_failures_;
  internal::KeptAdds<T, Hash, Eq> kept_adds_;
  internal::Lifecycle lifecycle_;
  // Both are null if the reconcile function is synchronous. The scheduler,
  // which cancels reconciliations at their deadlines, is null without
  // deadlines, too.
  const std::unique_ptr<Scheduler> deadlines_;
  std::unique_ptr<internal::AsyncWorkers<T>> async_workers_;
  // The name, for asynchronous reconciliations, which may outlive the
  // controller.
  std::shared_ptr<const std::string> shared_name_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<Controller<T, Hash, Eq>>>
Controller<T, Hash, Eq>::Create(ControllerOptions<T> options) {
  const internal::GivenOptions given = {
      static_cast<bool>(options.reconcile), options.reconcile_async != nullptr,
      options.rate_limiter != nullptr, options.ordering != nullptr,
      options.queue == nullptr ? nullptr : options.queue->clock()};
  absl::Status status = internal::CheckOptions(options, given);
  for (size_t i = 0; i < options.sources.size(); ++i) {
    status.Update(internal::CheckSource(i, options.sources[i].run != nullptr,
                                        options.sources[i].restart_backoff));
  }
  status.Update(internal::CheckTerms(static_cast<size_t>(
      std::count_if(options.sources.begin(), options.sources.end(),
                    [](const auto& it) { return it.term != nullptr; }))));
  if (!status.ok()) return status;
  std::unique_ptr<ThreadPool> pool;
  if (options.reconcile_async != nullptr && options.executor == nullptr) {
    auto made = NewPool(options, options.workers);
    if (!made.ok()) return made.status();
    pool = *std::move(made);
  }
  std::unique_ptr<ThreadPool> engine_calls;
  if (options.reconcile_async != nullptr && options.queue != nullptr &&
      options.queue->AsSharedFailures() != nullptr) {
    auto made =
        NewPool(options, std::min(options.max_in_flight, kEngineThreads));
    if (!made.ok()) return made.status();
    engine_calls = *std::move(made);
  }
  std::unique_ptr<Scheduler> deadlines;
  if (options.reconcile_async != nullptr &&
      options.reconcile_timeout < absl::InfiniteDuration()) {
    SchedulerOptions scheduler_options;
    scheduler_options.name = options.name;
    scheduler_options.clock = ClockOf(options);
    scheduler_options.workers = 1;
    scheduler_options.log_sink = options.log_sink;
    auto made = Scheduler::Create(std::move(scheduler_options));
    if (!made.ok()) return made.status();
    deadlines = *std::move(made);
  }
  return internal::CatchAsStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<Controller>> {
        return absl::WrapUnique(
            new Controller(std::move(options), std::move(pool),
                           std::move(engine_calls), std::move(deadlines)));
      });
}

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<ThreadPool>> Controller<T, Hash, Eq>::NewPool(
    const ControllerOptions<T>& options, size_t threads) {
  ThreadPoolOptions pool_options;
  pool_options.name = options.name;
  pool_options.threads = threads;
  pool_options.clock = ClockOf(options);
  pool_options.log_sink = options.log_sink;
  return ThreadPool::Create(std::move(pool_options));
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::MakeLedger(const ControllerOptions<T>& options) {
  if (shared_failures_ != nullptr) {
    if (limits_.parks()) {
      metrics_.NewParkedMetric(name_, options.metrics_provider);
    }
    return;
  }
  FailureLedgerOptions limits = limits_;
  limits.clock = clock_;
  FailureLedgerMetrics metrics;
  if (limits_.parks()) {
    metrics = metrics_.NewLedgerMetrics(name_, options.metrics_provider);
  }
  own_failures_ = std::make_unique<internal::LedgerFailures<T, Hash, Eq>>(
      *FailureLedger<T, Hash, Eq>::Create(limits, std::move(metrics)),
      queue_.get());
}

template <typename T, typename Hash, typename Eq>
Controller<T, Hash, Eq>::Controller(ControllerOptions<T> options,
                                    std::unique_ptr<ThreadPool> pool,
                                    std::unique_ptr<ThreadPool> engine_calls,
                                    std::unique_ptr<Scheduler> deadlines)
    : name_(options.name),
      reconcile_(std::move(options.reconcile)),
      term_(TakeTerm(options.sources)),
      clock_(ClockOf(options)),
      reconcile_timeout_(options.reconcile_timeout),
      max_concurrent_reconciles_(options.reconcile_async != nullptr
                                     ? options.max_in_flight
                                     : options.workers),
      queue_errors_("controller", name_, options.log_sink, clock_),
      failure_log_(name_, options.log_sink, clock_),
      limits_(options.failures),
      metrics_(name_, max_concurrent_reconciles_, options.metrics_provider),
      timed_(reconcile_timeout_ < absl::InfiniteDuration() ||
             metrics_.wanted()),
      rate_limiter_(RateLimiterOf(options)),
      pool_(std::move(pool)),
      engine_calls_(std::move(engine_calls)),
      queue_(QueueOf(options)),
      shared_failures_(queue_->AsSharedFailures()),
      kept_adds_(queue_.get(), &queue_errors_),
      lifecycle_(name_, options.log_sink, clock_, options.workers,
                 options.sync_timeout, Erase(std::move(options.sources)),
                 options.reconcile_async != nullptr, this),
      deadlines_(std::move(deadlines)) {
  MakeLedger(options);
  MakeAsyncWorkers(options);
}

template <typename T, typename Hash, typename Eq>
RateLimiter<T>* Controller<T, Hash, Eq>::RateLimiterOf(
    ControllerOptions<T>& options) {
  if (options.queue != nullptr) return nullptr;
  if (options.rate_limiter == nullptr) {
    options.rate_limiter = PriorityQueue<T, Hash, Eq>::NewDefaultRateLimiter();
  }
  return options.rate_limiter.get();
}

template <typename T, typename Hash, typename Eq>
std::unique_ptr<RateLimitingInterface<T>> Controller<T, Hash, Eq>::QueueOf(
    ControllerOptions<T>& options) {
  if (options.queue != nullptr) return std::move(options.queue);
  PriorityQueueOptions<T> queue_options;
  queue_options.name = options.name;
  queue_options.metrics_provider = options.queue_metrics_provider;
  queue_options.log_sink = options.log_sink;
  queue_options.clock = options.clock;
  queue_options.rate_limiter = std::move(options.rate_limiter);
  queue_options.ordering = std::move(options.ordering);
  return std::make_unique<PriorityQueue<T, Hash, Eq>>(std::move(queue_options));
}

template <typename T, typename Hash, typename Eq>
std::vector<internal::LifecycleSource> Controller<T, Hash, Eq>::Erase(
    std::vector<Source<T>> sources) {
  std::vector<internal::LifecycleSource> erased;
  erased.reserve(sources.size());
  for (Source<T>& source : sources) {
    auto run =
        [this, run = std::move(source.run)](
            const std::function<void()>& mark_synced,
            const std::function<void(const absl::Status&)>& mark_unhealthy) {
          metrics_.RecordSourceStart();
          absl::Cleanup record_end = [this] { metrics_.RecordSourceEnd(); };
          SourceContext<T> context = {
              kept_adds_,
              lifecycle_.stopping(),
              clock_,
              mark_synced,
              [this](absl::Duration d) { return lifecycle_.Sleep(d); },
              mark_unhealthy,
              [this] {
                lifecycle_.WakeWorkers();
                if (async_workers_ != nullptr) async_workers_->GoOn();
              }};
          return run(context);
        };
    erased.push_back({std::move(source.name), std::move(run),
                      source.restart_backoff, std::move(source.on_stop),
                      source.wait_for_sync});
  }
  return erased;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::MakeAsyncWorkers(ControllerOptions<T>& options) {
  if (options.reconcile_async == nullptr) return;
  shared_name_ = std::make_shared<const std::string>(name_);
  internal::AsyncClient<T>* const client = this;  // a private base
  async_workers_ = std::make_unique<internal::AsyncWorkers<T>>(
      queue_.get(), pool_ != nullptr ? pool_.get() : options.executor,
      engine_calls_.get(), deadlines_.get(), options.max_in_flight,
      lifecycle_.abandoning(), std::move(options.reconcile_async), client);
}

template <typename T, typename Hash, typename Eq>
internal::Reconciliation::Info Controller<T, Hash, Eq>::InfoOf(
    const Lease<T>& lease) {
  const int64_t term = Term();
  const absl::Time begun_at = NowIfTimed();
  return {shared_name_,
          clock_,
          begun_at,
          begun_at + reconcile_timeout_,
          lease.priority(),
          FailuresOf(lease),
          TokenOf(lease, term),
          term};
}

template <typename T, typename Hash, typename Eq>
absl::StatusOr<bool> Controller<T, Hash, Eq>::Idle(absl::Duration timeout) {
  SnapshotOptions<T> options;
  options.max = 0;
  options.timeout = timeout;
  const absl::StatusOr<Snapshot<T>> snapshot =
      queue_->TakeSnapshotWith(options);
  if (!snapshot.ok()) return snapshot.status();
  return snapshot->num_queued == 0 && snapshot->num_processing == 0;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::AddFailures(const SnapshotOptions<T>& options,
                                          Snapshot<T>* snapshot) {
  const auto& ledger = own_failures_->ledger();
  snapshot->num_failing = ledger.num_failing();
  if (limits_.parks()) snapshot->num_parked = ledger.num_parked();
  const auto add_errors = [&](auto& items) {
    for (auto& it : items) {
      Try("looking up the error of", it.item, [&] {
        const auto failed = ledger.Find(it.item);
        if (failed.has_value()) it.last_error = failed->last_error;
        return absl::OkStatus();
      });
    }
  };
  add_errors(snapshot->queued);
  add_errors(snapshot->processing);
  add_errors(snapshot->waiting);
  if (!options.details) return;
  if (options.only == nullptr) {
    snapshot->failing = ledger.Failing(options.max);
    snapshot->parked = ledger.Parked(options.max);
  } else if (auto failed = ledger.Find(*options.only); failed.has_value()) {
    (failed->parked ? snapshot->parked : snapshot->failing)
        .push_back(*std::move(failed));
  }
  for (FailedItem<T>& it : snapshot->failing) {
    // Finds the item wherever it waits, unlike the bounded list.
    const auto waits = queue_->TakeSnapshotOf(it.item);
    if (waits.ok() && !waits->waiting.empty()) {
      it.next_try_at = waits->waiting[0].ready_at;
    }
  }
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Work() {
  const absl::Notification& abandoning = lifecycle_.abandoning();
  while (lifecycle_.AwaitTerm([this] { return StandsBy(); })) {
    absl::StatusOr<Lease<T>> lease =
        internal::CatchAsStatus([this] { return queue_->Acquire(); });
    if (absl::IsCancelled(lease.status())) return;
    if (!lease.ok()) {
      queue_errors_.Write([] { return "acquiring an item"; }, lease.status());
      if (abandoning.HasBeenNotified()) return;
      lifecycle_.AwaitRetry(abandoning);
      continue;
    }
    if (abandoning.HasBeenNotified()) {
      lease->GiveBack();
      return;
    }
    if (StandsBy()) {
      lease->GiveBack();
      continue;
    }
    if (ShouldProcess(**lease)) Reconcile(*lease);
    lease->Done();
    lifecycle_.OnItemDone();
  }
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Reconcile(Lease<T>& lease) {
  const int64_t term = Term();
  const absl::Time begin = NowIfTimed();
  const auto lost = [this, &lease, term] {
    return lease.lost() || HasLostTerm(term);
  };
  const ReconcileContext context = {name_,
                                    clock_,
                                    lifecycle_.abandoning(),
                                    begin + reconcile_timeout_,
                                    lease.priority(),
                                    FailuresOf(lease),
                                    TokenOf(lease, term),
                                    lost};
  metrics_.RecordStart(lease.is_retry());
  bool threw = true;
  const absl::StatusOr<ReconcileResult> result = internal::CatchAsStatus([&] {
    absl::StatusOr<ReconcileResult> returned = reconcile_(*lease, context);
    threw = false;
    return returned;
  });
  const internal::AfterReconcile after =
      Handle(lease, begin, context.clock_deadline, context.failures, term,
             threw, result);
  if (!TryEnd(&lease, after)) RetryEnd(&lease, after);
}

template <typename T, typename Hash, typename Eq>
internal::AfterReconcile Controller<T, Hash, Eq>::Handle(
    const Lease<T>& lease, absl::Time begin, absl::Time deadline, int failures,
    int64_t term, bool threw, const absl::StatusOr<ReconcileResult>& result) {
  const absl::Time end = NowIfTimed();
  metrics_.RecordEnd(end - begin, lease.is_retry());
  if (threw) metrics_.RecordException();
  if (end >= deadline) metrics_.RecordTimeout();
  return result.ok() ? HandleSuccess(lease, *result)
                     : HandleError(lease, term, result.status(), failures + 1);
}

template <typename T, typename Hash, typename Eq>
internal::AfterReconcile Controller<T, Hash, Eq>::HandleError(
    const Lease<T>& lease, int64_t term, const absl::Status& error,
    int failures) {
  const bool terminal = IsTerminalError(error);
  if (!terminal &&
      (lifecycle_.abandoning().HasBeenNotified() || HasLostTerm(term))) {
    return {std::nullopt, /*give_back=*/true};
  }
  metrics_.RecordError();
  if (terminal) metrics_.RecordTerminalError();
  if (!terminal && shared_failures_ != nullptr) {
    internal::AfterReconcile after;
    after.failed = error;
    return after;
  }
  const bool parked = !terminal && RecordFailure(*lease, error);
  const std::optional<absl::Duration> asked = RetryAfterOf(error);
  std::optional<absl::Duration> delay;
  if (!terminal && !parked) delay = ChooseDelay(*lease, asked);
  failure_log_.Write([&lease] { return internal::DescribeItem(*lease); },
                     failures, error, terminal, parked, delay);
  if (terminal || parked) return ForgetAfter(lease);
  AddOptions again;
  again.after = delay.value_or(absl::ZeroDuration());
  again.rate_limited = !delay.has_value();
  again.retry_after = asked;
  again.priority = lease.priority();
  again.retry = true;
  return {again};
}

template <typename T, typename Hash, typename Eq>
internal::AfterReconcile Controller<T, Hash, Eq>::HandleSuccess(
    const Lease<T>& lease, const ReconcileResult& result) {
  internal::AfterReconcile after;
  if (!result.not_now) {
    after = ForgetAfter(lease);
    if (result.requeue_after == absl::ZeroDuration()) {
      metrics_.RecordSuccess();
      return after;
    }
  }
  metrics_.RecordRequeueAfter();
  if (result.requeue_after == absl::ZeroDuration()) {
    return {std::nullopt, /*give_back=*/true};
  }
  AddOptions again;
  again.after = result.requeue_after;
  again.priority = result.priority.value_or(lease.priority());
  after.add_again = again;
  return after;
}

template <typename T, typename Hash, typename Eq>
internal::AfterReconcile Controller<T, Hash, Eq>::ForgetAfter(
    const Lease<T>& lease) {
  internal::AfterReconcile after;
  if (shared_failures_ == nullptr) {
    Forget(*lease);
  } else {
    after.forget = shared_failures_->FailuresBefore(lease) > 0;
  }
  return after;
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::ShouldProcess(const T& item) {
  if (own_failures_ == nullptr) return true;
  bool should = true;
  Try("looking up the failures of", item, [&] {
    should = own_failures_->ledger().ShouldProcess(item);
    return absl::OkStatus();
  });
  return should;
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::RecordFailure(const T& item,
                                            const absl::Status& error) {
  bool parked = false;
  Try("recording the failure of", item, [&] {
    parked = own_failures_->ledger().RecordFailure(item, error);
    return absl::OkStatus();
  });
  return parked;
}

template <typename T, typename Hash, typename Eq>
std::optional<absl::Duration> Controller<T, Hash, Eq>::ChooseDelay(
    const T& item, std::optional<absl::Duration> asked) {
  if (rate_limiter_ == nullptr || queue_->ShuttingDown()) return std::nullopt;
  std::optional<absl::Duration> delay;
  Try("choosing the delay of", item, [&] {
    delay = asked.has_value() ? rate_limiter_->WhenAfter(item, *asked)
                              : rate_limiter_->When(item);
    return absl::OkStatus();
  });
  return delay;
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::Try(absl::string_view what, const T& item,
                                  absl::FunctionRef<absl::Status()> f) {
  return queue_errors_.Try(
      [what, &item] {
        return absl::StrCat(what, " ", internal::DescribeItem(item));
      },
      f);
}

template <typename T, typename Hash, typename Eq>
int Controller<T, Hash, Eq>::FailuresOf(const Lease<T>& lease) {
  if (shared_failures_ != nullptr) {
    return shared_failures_->FailuresBefore(lease);
  }
  int requeues = 0;
  Try("counting the failures of", *lease, [&] {
    requeues = queue_->NumRequeues(*lease);
    return absl::OkStatus();
  });
  return requeues;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Forget(const T& item) {
  Try("forgetting the failures of", item, [&] {
    if (own_failures_ != nullptr) own_failures_->ledger().Forget(item);
    return queue_->ForgetFailures(item);
  });
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::TryAddAgain(const T& item,
                                          const AddOptions& options) {
  return Try("adding again", item, [&] {
    absl::Status status =
        queue_->AddItems(options, absl::MakeConstSpan(std::addressof(item), 1));
    // A queue that has been shut down drops the item.
    const bool drops = shared_failures_ == nullptr ? queue_->ShuttingDown()
                                                   : absl::IsCancelled(status);
    return drops ? absl::OkStatus() : status;
  });
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::TryFail(Lease<T>* lease,
                                      const absl::Status& error) {
  const std::string item = internal::DescribeItem(**lease);
  const int before = shared_failures_->FailuresBefore(*lease);
  const std::optional<absl::Duration> asked = RetryAfterOf(error);
  typename SharedFailures<T>::Outcome outcome;
  const bool counted = Try("counting the failure of", **lease, [&] {
    const auto failed = shared_failures_->Fail(lease, error, limits_, asked);
    if (failed.ok()) outcome = *failed;
    return failed.status();
  });
  if (!counted) return false;
  if (outcome.parked) metrics_.RecordParked();
  failure_log_.Write([&item] { return item; },
                     outcome.lost ? before + 1 : outcome.failures, error,
                     /*terminal=*/false, outcome.parked, asked);
  return true;
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::TryEnd(Lease<T>* lease,
                                     const internal::AfterReconcile& after) {
  if (after.give_back) {
    lease->GiveBack();
    return true;
  }
  const bool over =
      (!after.forget || Try("forgetting the failures of", **lease,
                            [&] { return queue_->ForgetFailures(**lease); })) &&
      (after.failed.ok() || TryFail(lease, after.failed)) &&
      (!after.add_again.has_value() || TryAddAgain(**lease, *after.add_again));
  if (over || !lifecycle_.stopping().HasBeenNotified()) return over;
  // A queue in memory will be closed, and drops the item anyway. Elsewhere
  // another process tries again, or the lease expires.
  if (shared_failures_ != nullptr) lease->GiveBack();
  return true;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::RetryEnd(Lease<T>* lease,
                                       const internal::AfterReconcile& after) {
  do {
    lifecycle_.AwaitRetry(lifecycle_.stopping());
  } while (!TryEnd(lease, after));
}

// Instantiated in controller.cc.
extern template class Controller<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_CONTROLLER_H_
