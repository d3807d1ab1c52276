// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/controller.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_CONTROLLER_H_
#define WORKQUEUE_CONTROLLER_CONTROLLER_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/internal/reconcile_metrics.h"
#include "workqueue/controller/internal/source_status.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/catch_as_status.h"
#include "workqueue/internal/check_duration.h"
#include "workqueue/internal/log.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/print_item.h"
#include "workqueue/internal/retry_delay.h"
#include "workqueue/internal/worker_pool.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// ControllerOptions
//
// How a controller is made. Only `reconcile` must be set.
template <typename T>
struct ControllerOptions {
  // For metrics and messages. A controller without a name reports no metrics.
  std::string name;

  // What is called with each item.
  ReconcileFunction<T> reconcile;

  // How many items are reconciled at the same time, at most. At least 1.
  size_t workers = 1;

  // The clock that it goes by; null for the real one. Not owned, must outlive
  // the controller.
  Clock* clock = nullptr;

  // What chooses when to try again; null for the queue's default.
  std::unique_ptr<RateLimiter<T>> rate_limiter;

  // The queue; null for a `PriorityQueue`. It need have no priorities, and must
  // go by `clock`. It has a rate limiter, metrics and messages of its own:
  // `rate_limiter` must be null then, and `queue_metrics_provider` goes unused.
  std::unique_ptr<RateLimitingInterface<T>> queue;

  // Where its items come from. More can be added to the queue at any time.
  std::vector<Source<T>> sources;

  // How long `Start()` waits for the sources, at most. Not negative; may be
  // infinite.
  absl::Duration sync_timeout = absl::Minutes(2);

  // How long a reconciliation may take; see `ReconcileContext::deadline`.
  // Positive.
  absl::Duration reconcile_timeout = absl::InfiniteDuration();

  // What the queue that the controller makes reports to; null for the queues'
  // default provider. Not owned, must outlive the controller.
  MetricsProvider* queue_metrics_provider = nullptr;

  // What the controller itself reports to; null for nobody. Not owned, must
  // outlive the controller.
  ControllerMetricsProvider* metrics_provider = nullptr;

  // Where messages go, and those of the queue that the controller makes; null
  // for nowhere. Not owned, must outlive the controller.
  LogSink* log_sink = nullptr;
};

// Controller
//
// Reconciles items: calls a function with each that is added to its queue, on a
// number of workers, until it succeeds. Its rules are controller-runtime's:
//
//   * An item is reconciled by one worker at a time. One that is added
//     meanwhile is reconciled again.
//   * After an error it is added again rate limited, at its priority; after a
//     `TerminalError()` it is not. An exception counts as an error.
//   * After a success the rate limiter forgets it. With
//     `ReconcileResult::requeue_after`, it is added again when that has passed.
//
// Example:
//
//     workqueue::ControllerOptions<std::string> options;
//     options.name = "deployments";
//     options.workers = 2;
//     options.reconcile = [](const std::string& key,
//                            const workqueue::ReconcileContext&)
//         -> absl::StatusOr<workqueue::ReconcileResult> {
//       absl::Status status = MakeItSo(key);
//       if (!status.ok()) return status;  // it is tried again
//       return workqueue::ReconcileResult();
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
// Unlike in controller-runtime, the rate limiter forgets an item after a
// terminal error, too: nobody else would.
//
// If the queue throws, or says that it could not, when an item is to be handed
// out or added again, that is logged, and tried again a second later. The
// worker waits meanwhile, and keeps the item. (A rate limiter that counted the
// failure before the queue threw counts it again.) What `Forget()` and
// `NumRequeues()` throw is logged.
//
// A `T` can be copied. `Hash` and `Eq` are those of the queue that the
// controller makes, and must agree, as those of a hash set.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class Controller {
 public:
  // Returns `absl::InvalidArgumentError`, which names the field, if an option
  // is not as it must be, and `absl::InternalError` with what was thrown, if
  // the queue's thread cannot be started or a metrics provider throws.
  static absl::StatusOr<std::unique_ptr<Controller>> Create(
      ControllerOptions<T> options);

  // `Stop(absl::InfinitePast())`, and blocks until all that is in progress has
  // ended. Not to be called by the reconcile function or a source.
  ~Controller();

  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Starts the sources, waits until they are in sync, and starts the workers.
  //
  // Returns an error, and the controller is stopped, if a source fails or is
  // not in sync in time, or if a thread cannot be started;
  // `absl::CancelledError` if it is stopped meanwhile; and
  // `absl::FailedPreconditionError` if it has been started before: a controller
  // is not started again.
  absl::Status Start();

  // Tells the sources to stop, and when they have returned, shuts the queue
  // down; then blocks until all that is queued has been reconciled. What waits
  // for its time is dropped when the queue is shut down, and what fails after
  // that is not tried again.
  //
  // At `drain_until`, a time on the queue's clock, all that is still queued is
  // dropped and `ReconcileContext::stop` is notified, and this returns. The
  // destructor waits for what is in progress then.
  //
  // Returns whether the sources have returned and all that was queued has been
  // reconciled by then, be it with success or not. May be called from any
  // thread and more than once. The reconcile function or a source that calls
  // this does not wait: the controller begins to stop, drops nothing that is
  // queued, and false is returned at once.
  bool Stop(absl::Time drain_until = absl::InfiniteFuture());

  // Where items are added, before and after the start.
  RateLimitingInterface<T>& queue() { return *queue_; }

  // Blocks until no item is queued or being reconciled; some may wait for their
  // time. Only the controller's own workers wake it. Not to be called by the
  // reconcile function, nor before the start.
  //
  // For tests: it copies what is in the queue to find out.
  void AwaitIdle();

 private:
  enum class State { kNew, kStarting, kRunning, kNotRunning };
  using MutexLock = internal::MutexLock;

  explicit Controller(ControllerOptions<T> options);

  // Returns the queue in `options`, or the one that they make.
  static std::unique_ptr<RateLimitingInterface<T>> QueueOf(
      ControllerOptions<T>& options);

  // Notifies stopping_ and tells the sources, unless that has been done before.
  void BeginStop();

  // Notifies dropping_, unless that has been done before.
  void BeginDropping();

  // Drops what is queued, now and from now on.
  void DropQueued();

  // The parts of Start(). `sources_started` is what came of the sources.
  absl::Status StartWorkers(const absl::Status& sources_started)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartSources();
  absl::Status AwaitSync();
  void MarkSynced(const Source<T>& source);

  // Whether the caller is the reconcile function or a source.
  bool RunsThisThread() const {
    return source_pool_.RunsThisThread() || worker_pool_.RunsThisThread();
  }

  // Returns what `f()` does, a function of `source`'s; says so if it fails.
  template <typename F>
  static absl::Status Call(const Source<T>& source, F f);

  // What the threads do.
  void RunSource(const Source<T>& source);
  void Work();

  void Reconcile(const Lease<T>& lease);
  void HandleError(const Lease<T>& lease, const absl::Status& error,
                   int failures);
  void HandleSuccess(const Lease<T>& lease, const ReconcileResult& result);

  // Calls `f`, which does `what` with `item` and returns a status, or nothing.
  // Returns whether that is OK, and logs it otherwise, as it does what `f`
  // throws.
  template <typename F>
  bool Try(absl::string_view what, const T& item, F f);

  // Returns the time, if a timeout or a metric wants to know.
  absl::Time NowIfTimed() const {
    return timed_ ? clock_->TimeNow() : absl::UnixEpoch();
  }

  // As those of the queue, but do not throw.
  int NumRequeues(const T& item);
  void Forget(const T& item);

  // Adds `item` again; tries until the queue takes it.
  void AddAgain(const T& item, const AddOptions& options);

  // Blocks until it is time to try again, or until `over`.
  void AwaitRetry(const absl::Notification& over);

  const std::string name_;
  const ReconcileFunction<T> reconcile_;
  const size_t num_workers_;
  Clock* const clock_;
  const std::vector<Source<T>> sources_;
  const absl::Duration sync_timeout_;
  const absl::Duration reconcile_timeout_;
  const internal::Log log_;
  const internal::ReconcileMetrics metrics_;
  const bool timed_;
  const std::unique_ptr<RateLimitingInterface<T>> queue_;

  // Both are notified under mu_.
  absl::Notification stopping_;
  absl::Notification dropping_;  // what is still queued is dropped

  absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kNew;
  bool end_logged_ ABSL_GUARDED_BY(mu_) = false;
  // The sources that the start waits for.
  std::vector<const Source<T>*> unsynced_ ABSL_GUARDED_BY(mu_);
  // How many sources have not returned.
  size_t running_sources_ ABSL_GUARDED_BY(mu_) = 0;
  // The first error of a source before the workers were started.
  absl::Status source_status_ ABSL_GUARDED_BY(mu_);
  // Signalled when an item is done with, if anyone waits for that.
  absl::CondVar item_done_;
  std::atomic<int> idle_waiters_{0};

  internal::WorkerPool source_pool_;
  internal::WorkerPool worker_pool_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<Controller<T, Hash, Eq>>>
Controller<T, Hash, Eq>::Create(ControllerOptions<T> options) {
  if (!options.reconcile) {
    return absl::InvalidArgumentError(
        "reconcile is empty; it must be callable");
  }
  if (options.workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  if (options.rate_limiter != nullptr && options.queue != nullptr) {
    return absl::InvalidArgumentError(
        "rate_limiter is given, and queue, too; a queue has its own limiter");
  }
  for (size_t i = 0; i < options.sources.size(); ++i) {
    if (options.sources[i].run == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("sources[", i, "].run is empty; it must be callable"));
    }
  }
  absl::Status status =
      internal::CheckNotNegative("sync_timeout", options.sync_timeout);
  status.Update(
      internal::CheckPositive("reconcile_timeout", options.reconcile_timeout));
  if (!status.ok()) return status;
  return internal::CatchAsStatus(
      [&options]() -> absl::StatusOr<std::unique_ptr<Controller>> {
        return absl::WrapUnique(new Controller(std::move(options)));
      });
}

template <typename T, typename Hash, typename Eq>
Controller<T, Hash, Eq>::Controller(ControllerOptions<T> options)
    : name_(options.name),
      reconcile_(std::move(options.reconcile)),
      num_workers_(options.workers),
      clock_(OrRealClock(options.clock)),
      sources_(std::move(options.sources)),
      sync_timeout_(options.sync_timeout),
      reconcile_timeout_(options.reconcile_timeout),
      log_("controller", name_, options.log_sink),
      metrics_(name_, num_workers_, options.metrics_provider),
      timed_(reconcile_timeout_ < absl::InfiniteDuration() ||
             metrics_.wanted()),
      queue_(QueueOf(options)) {}

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
  return std::make_unique<PriorityQueue<T, Hash, Eq>>(std::move(queue_options));
}

template <typename T, typename Hash, typename Eq>
Controller<T, Hash, Eq>::~Controller() {
  Stop(absl::InfinitePast());
  BeginDropping();  // A worker may be waiting to try again.
  source_pool_.Join();
  worker_pool_.Join();
}

template <typename T, typename Hash, typename Eq>
absl::Status Controller<T, Hash, Eq>::Start() {
  {
    MutexLock lock(&mu_);
    if (state_ != State::kNew) {
      return absl::FailedPreconditionError(absl::StrCat(
          log_.who(), stopping_.HasBeenNotified()
                          ? " has been stopped, and cannot be started again"
                          : " has been started already"));
    }
    state_ = State::kStarting;
  }
  log_.Info([] { return "starting"; });
  // What is thrown for want of memory is an error as any other.
  absl::Status status = internal::CatchAsStatus([this] {
    const absl::Status started = StartSources();
    return started.ok() ? AwaitSync() : started;
  });
  {
    MutexLock lock(&mu_);
    // With the lock, so that nothing comes between its checks and the workers.
    status = internal::CatchAsStatus(
        [this, &status]()
            ABSL_NO_THREAD_SAFETY_ANALYSIS { return StartWorkers(status); });
    state_ = status.ok() ? State::kRunning : State::kNotRunning;
  }
  if (!status.ok()) {
    log_.Error(
        [&status] { return absl::StrCat("not started: ", status.ToString()); });
    Stop(absl::InfinitePast());
  }
  return status;
}

template <typename T, typename Hash, typename Eq>
absl::Status Controller<T, Hash, Eq>::StartWorkers(
    const absl::Status& sources_started) {
  // Whatever a source does when it is told to stop is no failure of its own.
  if (!source_status_.ok()) return source_status_;
  if (stopping_.HasBeenNotified()) {
    return absl::CancelledError("stopped before it was started");
  }
  if (!sources_started.ok()) return sources_started;
  log_.Info(
      [this] { return absl::StrCat("starting workers: ", num_workers_); });
  return worker_pool_.Start(num_workers_, [this](size_t) { Work(); });
}

template <typename T, typename Hash, typename Eq>
absl::Status Controller<T, Hash, Eq>::StartSources() {
  const std::function<void(size_t)> run = [this](size_t i) {
    RunSource(sources_[i]);
  };
  {
    MutexLock lock(&mu_);
    for (const Source<T>& source : sources_) {
      if (source.wait_for_sync) unsynced_.push_back(&source);
    }
    running_sources_ = sources_.size();
  }
  const absl::Status status = source_pool_.Start(sources_.size(), run);
  MutexLock lock(&mu_);
  running_sources_ -= sources_.size() - source_pool_.size();
  return status;
}

template <typename T, typename Hash, typename Eq>
absl::Status Controller<T, Hash, Eq>::AwaitSync() {
  const absl::Time deadline = clock_->TimeNow() + sync_timeout_;
  MutexLock lock(&mu_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return unsynced_.empty() || stopping_.HasBeenNotified();
  };
  if (clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), deadline)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "not in sync within ", absl::FormatDuration(sync_timeout_), ": ",
      absl::StrJoin(unsynced_, ", ", [](std::string* out, const auto* source) {
        absl::StrAppend(out, source->name);
      })));
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::MarkSynced(const Source<T>& source) {
  MutexLock lock(&mu_);
  unsynced_.erase(std::remove(unsynced_.begin(), unsynced_.end(), &source),
                  unsynced_.end());
}

template <typename T, typename Hash, typename Eq>
template <typename F>
absl::Status Controller<T, Hash, Eq>::Call(const Source<T>& source, F f) {
  // The outer one is for the memory that a message takes.
  return internal::CatchAsStatus([&] {
    return internal::AnnotateWithSource(source.name,
                                        internal::CatchAsStatus(f));
  });
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::RunSource(const Source<T>& source) {
  SourceContext<T> context = {*queue_, stopping_, clock_,
                              [this, &source] { MarkSynced(source); }};
  const absl::Status status = Call(source, [&] { return source.run(context); });
  if (status.ok()) {
    MarkSynced(source);
  } else if (!stopping_.HasBeenNotified()) {
    log_.Error([&status] { return status.ToString(); });
    bool ends_start = false;
    {
      MutexLock lock(&mu_);
      ends_start = state_ == State::kStarting && !stopping_.HasBeenNotified();
      if (ends_start) source_status_.Update(status);
    }
    if (ends_start) BeginStop();
  }
  MutexLock lock(&mu_);
  --running_sources_;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::BeginStop() {
  {
    MutexLock lock(&mu_);
    if (stopping_.HasBeenNotified()) return;
    log_.Info([] { return "stopping"; });  // before any that follows from it
    stopping_.Notify();
  }
  for (const Source<T>& source : sources_) {
    if (source.on_stop == nullptr) continue;
    const absl::Status status = Call(source, source.on_stop);
    if (status.ok()) continue;
    log_.Error([&status] { return status.ToString(); });
  }
}

template <typename T, typename Hash, typename Eq>
bool Controller<T, Hash, Eq>::Stop(absl::Time drain_until) {
  BeginStop();
  if (RunsThisThread()) {
    // Unlike ShutDown(), this ends no drain that is in progress.
    queue_->ShutDownWithDrainUntil(absl::InfinitePast());
    return false;
  }
  bool sources_returned = false;
  {
    MutexLock lock(&mu_);
    if (state_ == State::kNew) state_ = State::kNotRunning;
    const auto not_starting = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_ != State::kStarting;
    };
    mu_.Await(absl::Condition(&not_starting));
    if (state_ != State::kRunning) drain_until = absl::InfinitePast();
    const auto no_sources = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return running_sources_ == 0;
    };
    sources_returned = clock_->AwaitWithDeadline(
        &mu_, absl::Condition(&no_sources), drain_until);
  }
  if (!queue_->ShutDownWithDrainUntil(drain_until)) DropQueued();
  const bool drained = !dropping_.HasBeenNotified();
  {
    MutexLock lock(&mu_);
    if (std::exchange(end_logged_, true)) return sources_returned && drained;
  }
  log_.Info([drained] {
    return drained ? "stopped" : "stopped before all was reconciled";
  });
  return sources_returned && drained;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::BeginDropping() {
  MutexLock lock(&mu_);
  if (!dropping_.HasBeenNotified()) dropping_.Notify();
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::DropQueued() {
  BeginDropping();
  Work();              // also if there are no workers
  queue_->ShutDown();  // ends the drains of others
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::AwaitIdle() {
  ++idle_waiters_;
  absl::Cleanup leave = [this] { --idle_waiters_; };
  MutexLock lock(&mu_);
  const auto idle = [this] {
    if (queue_->Len() > 0) return false;  // No need to copy them.
    const Snapshot<T> snapshot = queue_->TakeSnapshot();
    return snapshot.queued.empty() && snapshot.processing.empty();
  };
  // A lease that ends after the look at the queue is signalled: whoever ends it
  // sees idle_waiters_, and waits for the lock.
  while (!idle()) item_done_.Wait(&mu_);
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Work() {
  while (true) {
    absl::StatusOr<Lease<T>> lease = internal::CatchAsStatus(
        [this] { return absl::StatusOr<Lease<T>>(queue_->Acquire()); });
    if (!lease.ok()) {
      log_.Error([&lease] {
        return absl::StrCat("acquiring an item: ", lease.status().ToString());
      });
      if (dropping_.HasBeenNotified()) return;
      AwaitRetry(dropping_);
      continue;
    }
    if (!*lease) return;
    if (!dropping_.HasBeenNotified()) Reconcile(*lease);
    lease->Done();
    if (idle_waiters_ > 0) {
      MutexLock lock(&mu_);
      item_done_.SignalAll();
    }
  }
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Reconcile(const Lease<T>& lease) {
  const absl::Time begin = NowIfTimed();
  const ReconcileContext context = {name_,
                                    clock_,
                                    dropping_,
                                    begin + reconcile_timeout_,
                                    lease.priority(),
                                    NumRequeues(*lease)};
  metrics_.RecordStart();
  bool threw = true;
  const absl::StatusOr<ReconcileResult> result = internal::CatchAsStatus([&] {
    absl::StatusOr<ReconcileResult> returned = reconcile_(*lease, context);
    threw = false;
    return returned;
  });
  const absl::Time end = NowIfTimed();
  metrics_.RecordEnd(end - begin);
  if (threw) metrics_.RecordException();
  if (end >= context.deadline) metrics_.RecordTimeout();
  if (result.ok()) {
    HandleSuccess(lease, *result);
  } else {
    HandleError(lease, result.status(), context.failures + 1);
  }
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::HandleError(const Lease<T>& lease,
                                          const absl::Status& error,
                                          int failures) {
  const bool terminal = IsTerminalError(error);
  metrics_.RecordError();
  if (terminal) metrics_.RecordTerminalError();
  log_.Error([&] {
    return absl::StrCat(
        "reconciling ", internal::DescribeItem(*lease),
        terminal ? ", for the last time" : "", " (failures: ", failures,
        "): ", error.ToString(absl::StatusToStringMode::kWithNoExtraData));
  });
  if (terminal) {
    Forget(*lease);
    return;
  }
  AddOptions again;
  again.rate_limited = true;
  again.priority = lease.priority();
  AddAgain(*lease, again);
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::HandleSuccess(const Lease<T>& lease,
                                            const ReconcileResult& result) {
  Forget(*lease);
  if (result.requeue_after <= absl::ZeroDuration()) {
    metrics_.RecordSuccess();
    return;
  }
  metrics_.RecordRequeueAfter();
  AddOptions again;
  again.after = result.requeue_after;
  again.priority = result.priority.value_or(lease.priority());
  AddAgain(*lease, again);
}

template <typename T, typename Hash, typename Eq>
template <typename F>
bool Controller<T, Hash, Eq>::Try(absl::string_view what, const T& item, F f) {
  const absl::Status status = internal::CatchAsStatus(f);
  if (status.ok()) return true;
  log_.Error([&] {
    return absl::StrCat(what, " ", internal::DescribeItem(item), ": ",
                        status.ToString());
  });
  return false;
}

template <typename T, typename Hash, typename Eq>
int Controller<T, Hash, Eq>::NumRequeues(const T& item) {
  int requeues = 0;
  Try("counting the failures of", item,
      [&] { requeues = queue_->NumRequeues(item); });
  return requeues;
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Forget(const T& item) {
  Try("forgetting the failures of", item, [&] { queue_->Forget(item); });
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::AddAgain(const T& item,
                                       const AddOptions& options) {
  const auto add = [&] {
    bool taken = false;
    if (auto* const queue = queue_->AsPriorityQueue()) {
      taken = queue->AddWithOptions(options, absl::MakeConstSpan(&item, 1));
    } else if (options.rate_limited) {
      taken = queue_->AddRateLimited(item);
    } else {
      taken = queue_->AddAfter(item, options.after);
    }
    if (taken || queue_->ShuttingDown()) return absl::OkStatus();
    return absl::UnavailableError("the queue has not taken it");
  };
  while (!Try("adding again", item, add)) {
    // A queue that is shut down would drop it anyhow.
    if (stopping_.HasBeenNotified()) return;
    AwaitRetry(stopping_);
  }
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::AwaitRetry(const absl::Notification& over) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&over, &absl::Notification::HasBeenNotified),
      clock_->TimeNow() + internal::RetryDelay());
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_CONTROLLER_H_
