// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/interfaces.h"

namespace workqueue::internal {

class Flight;      // workqueue/controller/internal/async_workers.h
struct AsyncGate;  // the same

// What the user's code is told of a reconciliation.
struct ReconciliationInfo {
  // Null if the reconciliation is synchronous.
  std::shared_ptr<const std::string> controller_name;
  Clock* clock;               // must outlive the controller
  absl::Time begun_at;        // on the clock, if anything is timed
  absl::Time clock_deadline;  // on the clock
  int priority;
  int failures;
  int64_t token = 0;
  int64_t term = 0;  // see `Source::term`
};

// How the controller ends the reconciliation of an item.
struct AfterReconcile {
  // How the item is added again, or nothing.
  std::optional<AddOptions> add_again = std::nullopt;
  // Whether the item is given back, and not done. It is not added again then.
  bool give_back = false;
  // If not OK, the engine that has the queue counts this failure, and ends the
  // lease.
  absl::Status failed = absl::OkStatus();
  // Whether that engine forgets the failures of the item.
  bool forget = false;
};

// LeasedItem
//
// An item that a worker has acquired, without its type. The functions throw
// what the queue, its limiter and the functions of the item throw.
//
// Not thread-safe, except for `lost()`.
class LeasedItem {
 public:
  // The item, for a message.
  virtual std::string Describe() const = 0;

  // Properties of the lease.
  virtual int priority() const = 0;
  virtual int64_t token() const = 0;
  virtual bool lost() const = 0;
  virtual bool is_retry() const = 0;

  // Ends the lease, and blocks until there is an item. See
  // `Interface::AcquireNext()`.
  virtual absl::Status Acquire() = 0;
  virtual void Done() = 0;
  virtual void GiveBack() = 0;

  // Calls the reconcile function.
  virtual absl::StatusOr<ReconcileResult> Reconcile(
      const ReconcileContext& context) = 0;

  // Moves the item into a reconciliation that is in flight.
  virtual std::shared_ptr<Flight> TakeOff(std::shared_ptr<AsyncGate> gate,
                                          ReconciliationInfo info) = 0;

  // Adds the item to the queue.
  virtual absl::Status Add(const AddOptions& options) = 0;

  // Returns the number of failures so far.
  virtual int Failures() const = 0;
  // Makes the ledger and the queue forget them.
  virtual absl::Status Forget() = 0;

  // The next ones are called if there is a ledger. See those of
  // `FailureLedger`.
  virtual bool ShouldProcess() = 0;
  virtual bool RecordFailure(const absl::Status& error) = 0;
  // Returns the time after which the rate limiter lets the item, which has
  // failed, be tried again. `asked` is the delay that the error chose, if it
  // did. Returns nothing if the queue must ask its rate limiter.
  virtual std::optional<absl::Duration> ChooseDelay(
      std::optional<absl::Duration> asked) = 0;

  // `SharedFailures::Fail()`, if the engine of the queue keeps the failures.
  struct FailOutcome {
    bool lost;
    int failures;
    bool parked;
  };
  virtual absl::StatusOr<FailOutcome> Fail(
      const absl::Status& error, std::optional<absl::Duration> retry_after) = 0;

 protected:
  ~LeasedItem() = default;
};

// Reconciliation
//
// An asynchronous reconciliation of one item, without the type of the item. The
// controller and the user's code share ownership, because the user's code may
// keep its context and its completion for longer than the controller exists.
//
// Thread-safe.
class Reconciliation {
 public:
  using Info = ReconciliationInfo;

  explicit Reconciliation(Info info) : info_(std::move(info)) {}
  virtual ~Reconciliation() = default;

  Reconciliation(const Reconciliation&) = delete;
  Reconciliation& operator=(const Reconciliation&) = delete;

  const Info& info() const { return info_; }

  // `AsyncReconcileContext` documents these functions.
  bool Lost() const ABSL_LOCKS_EXCLUDED(mu_);
  bool Cancelled() const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Duration Remaining() const;
  void OnCancel(absl::AnyInvocable<void() &&> callback)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels the reconciliation, unless it is complete: calls the callback of
  // `OnCancel()`.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

  // Ends the reconciliation. Returns false, and changes nothing, if it has
  // ended before, or if the controller is gone.
  bool Complete(absl::StatusOr<ReconcileResult> result)
      ABSL_LOCKS_EXCLUDED(mu_);

  // A `ReconcileCompletion` comes into being or is destroyed. If none is left,
  // and none has been called, the reconciliation ends with an error.
  void AddCompletion() { completions_.fetch_add(1); }
  void DropCompletion();

 private:
  // Whether the lease of the item or the term is lost. Called until the
  // reconciliation is complete.
  virtual bool LeaseLost() const { return false; }

  // Hands `result` to the controller, once. Returns false if it is gone.
  virtual bool OnComplete(absl::StatusOr<ReconcileResult> result) = 0;

  // Called when a completion is called again.
  virtual void OnCompletedTwice() = 0;

  const Info info_;
  std::atomic<size_t> completions_{0};

  // Both are written under mu_.
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> completed_{false};
  mutable absl::Mutex mu_;
  absl::AnyInvocable<void() &&> on_cancel_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_
