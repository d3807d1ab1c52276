// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_CONTROLLER_H_
#define WORKQUEUE_CONTROLLER_CONTROLLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/controller_core.h"
#include "workqueue/controller/internal/kept_adds.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/executor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

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
class Controller final : private internal::ControllerCore {
 public:
  // Returns `absl::InvalidArgumentError`, which names the field and its value,
  // if an option is out of its range or contradicts another one. Returns
  // `absl::InternalError`, with the text of the exception, if the queue's
  // thread cannot be started or a metrics provider throws. Returns
  // `absl::ResourceExhaustedError` if another thread cannot be started, which
  // `reconcile_async` needs.
  static absl::StatusOr<std::unique_ptr<Controller>> Create(
      ControllerOptions<T> options);

  // Calls `Stop(absl::ZeroDuration())`, and blocks until all threads have
  // ended. The reconcile function and the sources must not destroy the
  // controller. On the thread of a loop that the program drives, aborts the
  // program if it would wait for a task of `ControllerOptions::executor`.
  ~Controller();

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
  // On the thread of the loop that is `ControllerOptions::clock`, a call that
  // would wait for a source returns `absl::FailedPreconditionError`, and does
  // not start the controller.
  absl::Status Start() { return ControllerCore::Start(); }

  // Starts the controller without blocking. `started` is called once, on the
  // thread of the loop that is `ControllerOptions::clock`, with what `Start()`
  // returns, or by the destructor, with an error. It may destroy the
  // controller.
  //
  // Returns `absl::InvalidArgumentError` if `started` is null. Returns
  // `absl::FailedPreconditionError`, and does not call `started`, if the clock
  // is no loop, or if the controller has been started or stopped before.
  absl::Status StartAsync(
      absl::AnyInvocable<void(absl::Status status) &&> started) {
    return ControllerCore::StartAsync(std::move(started));
  }

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
    absl::Status status = ControllerCore::Healthy();
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
  // Blocks no longer than `timeout`, measured on the controller's clock, but
  // until a start in progress has ended: that of `StartAsync()` ends only while
  // the loop runs. When `timeout` has passed, the queue is closed in any case.
  // If items are left to reconcile, `Stop()` then notifies
  // `ReconcileContext::stop`. Items that no worker has begun to reconcile stay
  // in the queue. Reconciliations in progress go on, and the destructor waits
  // for them. Those that then end with an error give their items back to the
  // queue.
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
  // call passes while items are left, other calls that wait for the queued
  // items return, too, and each later call returns false. If the reconcile
  // function or a source calls `Stop()`, the controller begins to stop, and
  // `Stop()` returns false without waiting. So does a call that would block the
  // thread of the loop that is `ControllerOptions::clock`. This holds only on
  // the thread that is in the function or in `Source::run`. Other code of a
  // reconciliation or a source would wait for itself. So a source with
  // `run_async`, and a reconciliation whose function has returned, must call
  // `Stop(absl::ZeroDuration())` or `StopAsync()`.
  bool Stop(absl::Duration timeout = absl::InfiniteDuration()) {
    return ControllerCore::Stop(timeout);
  }

  // Stops the controller without blocking. `stopped` is called once, on the
  // thread of the loop that is `ControllerOptions::clock`, with what `Stop()`
  // returns, or by the destructor. It may destroy the controller.
  //
  // Does nothing, and returns `absl::InvalidArgumentError` if `stopped` is null
  // or `absl::FailedPreconditionError` if the clock is no loop. If the queue is
  // in an engine that does not answer, the last look at the queue holds the
  // loop up for 100 ms.
  absl::Status StopAsync(absl::Duration timeout,
                         absl::AnyInvocable<void(bool stopped) &&> stopped) {
    return ControllerCore::StopAsync(timeout, std::move(stopped));
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
  // parked. Returns the error of the queue.
  absl::Status ForgetFailures(const T& item);

  // `ForgetFailures()`. Logs the error, and an exception of the queue.
  void Forget(const T& item);

  // Return options of the controller: its name, the maximum number of items
  // that are reconciled at the same time, the maximum time of a reconciliation,
  // and when an item is parked.
  using ControllerCore::failure_limits;
  using ControllerCore::max_concurrent_reconciles;
  using ControllerCore::name;
  using ControllerCore::reconcile_timeout;

  // For tests. Blocks until no item is queued or being reconciled. Waiting
  // items do not count. After a `Stop()` whose timeout has passed, blocks
  // until all workers have ended.
  //
  // The controller's own workers wake the call. Other consumers of the queue do
  // not. If the queue has an engine, the call asks it each 10 ms of real time.
  // The caller must ensure that the controller has been started. The
  // reconcile function must not call `AwaitIdle()`.
  void AwaitIdle() { ControllerCore::AwaitIdle(); }

 private:
  using LeasedItem = internal::LeasedItem;
  using Ledger = FailureLedger<T, Hash, Eq>;

  // The failures of a queue in memory.
  class LedgerFailures final : public Failures<T> {
   public:
    LedgerFailures(std::unique_ptr<Ledger> the_ledger, Interface<T>* queue)
        : ledger(std::move(the_ledger)), queue_(queue) {}

    absl::StatusOr<bool> Unpark(const T& item) override {
      return ledger->Unpark(item, queue_);
    }
    absl::StatusOr<size_t> UnparkAll() override {
      return ledger->UnparkAll(queue_);
    }
    absl::StatusOr<std::vector<FailedItem<T>>> Failing(
        size_t max) const override {
      return ledger->Failing(max);
    }
    absl::StatusOr<std::vector<FailedItem<T>>> Parked(
        size_t max) const override {
      return ledger->Parked(max);
    }
    absl::StatusOr<FailedItem<T>> Find(const T& item) const override {
      auto found = ledger->Find(item);
      if (found.has_value()) return *std::move(found);
      return absl::NotFoundError("the item has no failures");
    }
    absl::StatusOr<FailureNumbers> Numbers() const override {
      return FailureNumbers{ledger->num_failing(), ledger->num_parked()};
    }

    const std::unique_ptr<Ledger> ledger;

   private:
    Interface<T>* const queue_;
  };

  // An item of the queue that a worker has.
  class Held final : public LeasedItem {
   public:
    explicit Held(Controller* owner, Lease<T> the_lease = Lease<T>())
        : controller(*owner), lease(std::move(the_lease)) {}

    std::string Describe() const override {
      return internal::DescribeItem(*lease);
    }
    int priority() const override { return lease.priority(); }
    int64_t token() const override { return lease.token(); }
    bool lost() const override { return lease.lost(); }
    bool is_retry() const override { return lease.is_retry(); }
    absl::Status Acquire() override {
      return controller.queue_->AcquireNext(&lease);
    }
    bool End(internal::LeaseEnd end) override {
      const bool known = !lease || lease.lost();
      const bool done = end == internal::LeaseEnd::kDone;
      return (done ? lease.Done() : lease.GiveBack()) || known;
    }
    absl::StatusOr<ReconcileResult> Reconcile(
        const ReconcileContext& context) override {
      return controller.reconcile_(*lease, context);
    }
    std::shared_ptr<internal::Flight> TakeOff(
        std::shared_ptr<internal::AsyncGate> gate,
        internal::Reconciliation::Info info) override {
      return std::make_shared<Flight>(std::move(gate), std::move(info), this);
    }
    absl::Status Add(const AddOptions& options) override {
      if (controller.shared()) {
        return controller.shared_failures_->Requeue(&lease, options);
      }
      absl::Status status = controller.queue_->AddItems(
          options, absl::MakeConstSpan(std::addressof(*lease), 1));
      // A queue that has been shut down drops the item.
      return controller.queue_->ShuttingDown() ? absl::OkStatus() : status;
    }
    int Failures() const override {
      return controller.shared()
                 ? controller.shared_failures_->FailuresBefore(lease)
                 : controller.queue_->NumRequeues(*lease);
    }
    absl::Status Forget() override { return controller.ForgetFailures(*lease); }
    bool ShouldProcess() override {
      return controller.shared() ||
             controller.own_failures_->ledger->ShouldProcess(*lease);
    }
    bool RecordFailure(const absl::Status& error) override {
      return controller.own_failures_->ledger->RecordFailure(*lease, error);
    }
    std::optional<absl::Duration> ChooseDelay(
        std::optional<absl::Duration> asked) override {
      RateLimiter<T>* const limiter = controller.rate_limiter_;
      if (limiter == nullptr || controller.queue_->ShuttingDown()) {
        return std::nullopt;
      }
      return asked.has_value() ? limiter->WhenAfter(*lease, *asked)
                               : limiter->When(*lease);
    }
    absl::StatusOr<FailureOutcome> Fail(
        const absl::Status& error,
        std::optional<absl::Duration> retry_after) override {
      return controller.shared_failures_->Fail(
          &lease, error, controller.failure_limits(), retry_after);
    }

    Controller& controller;
    Lease<T> lease;
  };

  // One whose reconciliation is in flight.
  class Flight final : public internal::Flight {
   public:
    Flight(std::shared_ptr<internal::AsyncGate> gate,
           internal::Reconciliation::Info info, Held* held)
        : internal::Flight(std::move(gate), std::move(info)),
          item_(*held->lease),
          held_(&held->controller, std::move(held->lease)) {}

    LeasedItem& leased() override { return held_; }
    const LeasedItem& leased() const override { return held_; }
    void Start(const AsyncReconcileContext& context,
               ReconcileCompletion done) override {
      held_.controller.reconcile_async_(item_, context, std::move(done));
    }

   private:
    const T item_;
    Held held_;
  };

  Controller(ControllerOptions<T> options, const internal::GivenOptions& given,
             std::shared_ptr<internal::AsyncWorkers> async_workers,
             std::function<int64_t()> term);

  // Returns the rate limiter in `options`, for a new queue. If there is none,
  // first puts the default one there. Returns null if there is a queue.
  static RateLimiter<T>* RateLimiterOf(ControllerOptions<T>& options) {
    if (options.queue != nullptr) return nullptr;
    if (options.rate_limiter == nullptr) {
      options.rate_limiter =
          PriorityQueue<T, Hash, Eq>::NewDefaultRateLimiter();
    }
    return options.rate_limiter.get();
  }

  // Returns the queue in `options`, or a new one.
  static std::unique_ptr<RateLimitingInterface<T>> QueueOf(
      ControllerOptions<T>& options) {
    if (options.queue != nullptr) return std::move(options.queue);
    PriorityQueueOptions<T> queue_options;
    queue_options.name = options.name;
    queue_options.metrics_provider = options.queue_metrics_provider;
    queue_options.log_sink = options.log_sink;
    queue_options.clock = options.clock;
    queue_options.rate_limiter = std::move(options.rate_limiter);
    queue_options.ordering = std::move(options.ordering);
    return std::make_unique<PriorityQueue<T, Hash, Eq>>(
        std::move(queue_options));
  }

  // Returns `sources` without the type of their items.
  std::vector<internal::UntypedSource> Erase(std::vector<Source<T>> sources) {
    std::vector<internal::UntypedSource> erased;
    erased.reserve(sources.size());
    for (Source<T>& source : sources) {
      internal::UntypedSource& added = erased.emplace_back();
      added.name = std::move(source.name);
      added.restart_backoff = source.restart_backoff;
      added.on_stop = std::move(source.on_stop);
      added.wait_for_sync = source.wait_for_sync;
      if (source.run != nullptr) {
        added.run = [this, run = std::move(source.run)](auto mark_synced,
                                                        auto mark_unhealthy) {
          SourceContext<T> context =
              ContextOf(std::move(mark_synced), std::move(mark_unhealthy));
          return run(context);
        };
      } else {
        added.run_async = [this, run = std::move(source.run_async)](
                              auto mark_synced, auto mark_unhealthy,
                              SourceDone done) {
          run(std::make_shared<SourceContext<T>>(
                  ContextOf(std::move(mark_synced), std::move(mark_unhealthy))),
              std::move(done));
        };
      }
    }
    return erased;
  }

  // Returns the context of a run of a source.
  SourceContext<T> ContextOf(
      std::function<void()> mark_synced,
      std::function<void(const absl::Status&)> mark_unhealthy) {
    return {kept_adds_,
            stopping(),
            clock(),
            std::move(mark_synced),
            [this](absl::Duration d) { return Sleep(d); },
            std::move(mark_unhealthy),
            [this] { LookAtTerm(); }};
  }

  // ControllerCore:
  void Work() override {
    Held item(this);
    WorkWith(item);
  }
  void CloseQueue() override {
    queue_->Close();
    LookAtTerm();  // A worker that stands by ends.
  }
  absl::StatusOr<bool> Idle(absl::Duration timeout) override {
    SnapshotOptions<T> options;
    options.max = 0;
    options.timeout = timeout;
    const absl::StatusOr<Snapshot<T>> snapshot =
        queue_->TakeSnapshotWith(options);
    if (!snapshot.ok()) return snapshot.status();
    return snapshot->num_queued == 0 && snapshot->num_processing == 0;
  }
  bool QueueAnswers() const override {
    return shared_failures_->EndsAreKnown();
  }
  bool HasLostAdds() const override { return kept_adds_.HasLost(); }
  void EndBlockedAdds() override { kept_adds_.BeginStop(); }
  void AcquireNextAsync(LeasedItem* ended, Executor* executor,
                        std::shared_ptr<internal::AsyncGate> to) override {
    Lease<T> lease;
    if (ended != nullptr) lease = std::move(static_cast<Held*>(ended)->lease);
    if (lease && shared()) {
      // One request ends the item and takes the next one, if there is one.
      const absl::Status acquired =
          queue_->AcquireInto(&lease, absl::ZeroDuration());
      if (acquired.ok()) {
        Held held(this, std::move(lease));
        OnAcquired(to, acquired, held);
        return;
      }
      NoteEnd(absl::IsDeadlineExceeded(acquired) ||
              absl::IsCancelled(acquired));
    }
    queue_->AcquireNextAsync(
        &lease, executor,
        [this, to = std::move(to)](absl::StatusOr<Lease<T>> acquired) {
          Held held(this);
          if (acquired.ok()) held.lease = *std::move(acquired);
          OnAcquired(to, acquired.status(), held);
        });
  }

  // Adds what the ledger knows to a snapshot of the queue.
  void AddFailures(const SnapshotOptions<T>& options, Snapshot<T>* snapshot) {
    const Ledger& ledger = *own_failures_->ledger;
    snapshot->num_failing = ledger.num_failing();
    if (failure_limits().parks()) snapshot->num_parked = ledger.num_parked();
    const auto add_errors = [&](auto& items) {
      for (auto& it : items) {
        Try(
            "looking up the error of",
            [&it] { return internal::DescribeItem(it.item); },
            [&] {
              const auto failed = ledger.Find(it.item);
              if (failed.has_value()) it.last_error = failed->last_error;
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
    SnapshotOptions<T> of_one = options;
    of_one.details = false;
    for (FailedItem<T>& it : snapshot->failing) {
      // Finds the item wherever it waits, unlike the bounded list.
      of_one.only = std::addressof(it.item);
      const auto waits = queue_->TakeSnapshotWith(of_one);
      if (!waits.ok()) break;  // The others would take as long.
      if (!waits->waiting.empty()) it.next_try_at = waits->waiting[0].ready_at;
    }
  }

  const ReconcileFunction<T> reconcile_;
  const AsyncReconcileFunction<T> reconcile_async_;
  // The rate limiter of the queue that the controller has made; null if the
  // queue was given. The queue owns it.
  RateLimiter<T>* const rate_limiter_;
  const std::unique_ptr<RateLimitingInterface<T>> queue_;
  // Where the failures are: in the engine of the queue, or in this process. One
  // of these is null.
  SharedFailures<T>* const shared_failures_;
  std::unique_ptr<LedgerFailures> own_failures_;
  internal::KeptAdds<T, Hash, Eq> kept_adds_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
absl::StatusOr<std::unique_ptr<Controller<T, Hash, Eq>>>
Controller<T, Hash, Eq>::Create(ControllerOptions<T> options) {
  static_assert(std::is_copy_constructible_v<T>, "an item must be copyable");
  internal::GivenOptions given;
  given.reconcile = static_cast<bool>(options.reconcile);
  given.reconcile_async = options.reconcile_async != nullptr;
  given.rate_limiter = options.rate_limiter != nullptr;
  given.ordering = options.ordering != nullptr;
  if (options.queue != nullptr) {
    given.queue_clock = options.queue->clock();
    given.shared = options.queue->AsSharedFailures() != nullptr;
  }
  absl::Status status = internal::CheckOptions(options, given);
  std::function<int64_t()> term;
  size_t terms = 0;
  for (size_t i = 0; i < options.sources.size(); ++i) {
    const Source<T>& source = options.sources[i];
    status.Update(internal::CheckSource(i, source.run != nullptr,
                                        source.run_async != nullptr,
                                        source.restart_backoff, options.clock));
    if (source.term == nullptr) continue;
    term = source.term;
    ++terms;
  }
  given.term = term != nullptr;
  status.Update(internal::CheckTerms(terms));
  if (!status.ok()) return status;
  auto async_workers = internal::MakeAsyncWorkers(options, given);
  if (!async_workers.ok()) return async_workers.status();
  return internal::CatchAsStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<Controller>> {
        return absl::WrapUnique(new Controller(std::move(options), given,
                                               *std::move(async_workers),
                                               std::move(term)));
      });
}

template <typename T, typename Hash, typename Eq>
Controller<T, Hash, Eq>::Controller(
    ControllerOptions<T> options, const internal::GivenOptions& given,
    std::shared_ptr<internal::AsyncWorkers> async_workers,
    std::function<int64_t()> term)
    : ControllerCore(options, given, std::move(async_workers), std::move(term)),
      reconcile_(std::move(options.reconcile)),
      reconcile_async_(std::move(options.reconcile_async)),
      rate_limiter_(RateLimiterOf(options)),
      queue_(QueueOf(options)),
      shared_failures_(queue_->AsSharedFailures()),
      kept_adds_(queue_.get(), &queue_errors(),
                 shared_failures_ == nullptr ? driven_loop() : nullptr) {
  if (shared_failures_ == nullptr) {
    FailureLedgerOptions limits = failure_limits();
    limits.clock = clock();
    own_failures_ = std::make_unique<LedgerFailures>(
        *Ledger::Create(limits, NewLedgerMetrics()), queue_.get());
  } else {
    // Also without a limit: an earlier program may have given the engine some.
    shared_failures_->SetLimits(failure_limits()).IgnoreError();  // checked
  }
  SetSources(Erase(std::move(options.sources)));
}

template <typename T, typename Hash, typename Eq>
Controller<T, Hash, Eq>::~Controller() {
  kept_adds_.Stop();
  End();
}

template <typename T, typename Hash, typename Eq>
absl::Status Controller<T, Hash, Eq>::ForgetFailures(const T& item) {
  if (own_failures_ != nullptr) own_failures_->ledger->Forget(item);
  return queue_->ForgetFailures(item);
}

template <typename T, typename Hash, typename Eq>
void Controller<T, Hash, Eq>::Forget(const T& item) {
  Try(
      "forgetting the failures of",
      [&item] { return internal::DescribeItem(item); },
      [&] { return ForgetFailures(item); });
}

// Instantiated in controller.cc.
extern template class Controller<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_CONTROLLER_H_
