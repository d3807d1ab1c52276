// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/internal/lifecycle.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/failures.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

struct FailureLedgerMetrics;

namespace internal {

class AsyncWorkers;

// Makes the asynchronous workers, and starts the threads that the options ask
// for. Returns null if the reconcile function is synchronous, and an error if a
// thread cannot be started. The options have been checked.
absl::StatusOr<std::shared_ptr<AsyncWorkers>> MakeAsyncWorkers(
    const ControllerOptionsBase& options, const GivenOptions& given);

// ControllerCore
//
// The part of a controller that does not depend on the type of the items: its
// workers, and what follows from the result of a reconciliation.
//
// Thread-safe.
class ControllerCore : public Lifecycle {
 public:
  size_t max_concurrent_reconciles() const {
    return max_concurrent_reconciles_;
  }
  absl::Duration reconcile_timeout() const { return reconcile_timeout_; }
  const FailureLedgerOptions& failure_limits() const { return limits_; }

  // The rest is for the workers.

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
  void EndLease(LeasedItem& item) { NoteEnd(item.Done()); }
  void GiveBack(LeasedItem& item) { NoteEnd(item.GiveBack()); }

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
  // `async_workers` is null if the workers are synchronous. `term` is that of a
  // source, and may be null.
  ControllerCore(const ControllerOptionsBase& options,
                 const GivenOptions& given,
                 std::shared_ptr<AsyncWorkers> async_workers,
                 std::function<int64_t()> term);
  ~ControllerCore();

  // Whether the engine of the queue keeps the failures.
  bool shared() const { return shared_; }

  // Ends everything. The destructor of the derived class calls it.
  void End();

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
  struct Metrics;

  // Lifecycle:
  void RecordSourceStart() const override;
  void RecordSourceEnd() const override;
  void RecordSourceHealth(bool healthy) const override;
  void StartAsyncWorkers() override;
  void OnAbandoning() override;
  bool ReconcilesThisThread() const override;
  bool HearsOfEnds() const override { return !shared_; }
  bool EndsAreKnown() const override {
    return !shared_ || (!end_unknown_ && QueueAnswers());
  }

  // Returns `SharedFailures::EndsAreKnown()` of a queue that is `shared()`.
  virtual bool QueueAnswers() const = 0;

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

  const std::function<int64_t()> term_;
  LogSink* const log_sink_;
  const absl::Duration reconcile_timeout_;
  const size_t max_concurrent_reconciles_;
  const FailureLedgerOptions limits_;
  const bool shared_;
  sync::Atomic<bool> end_unknown_{false};
  ErrorLog queue_errors_;
  LastingError cannot_acquire_;
  MessageLimit failure_limit_;
  ControllerMetricsProvider* const metrics_provider_;  // null without metrics
  const std::unique_ptr<Metrics> metrics_;
  const bool timed_;
  const std::shared_ptr<AsyncWorkers> async_workers_;  // may be null
  // The name, for asynchronous reconciliations, which may outlive the
  // controller.
  std::shared_ptr<const std::string> shared_name_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_CONTROLLER_CORE_H_
