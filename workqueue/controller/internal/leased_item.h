// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LEASED_ITEM_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LEASED_ITEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/base/handle.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"

namespace workqueue {

struct TaskIdTag;

namespace internal {

class Flight;

// What leads to the asynchronous workers, as long as they exist.
struct AsyncGate;

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
  // Ends the lease. Returns false if an engine may not know of that.
  virtual bool End(LeaseEnd end) = 0;

  // Calls the reconcile function.
  virtual absl::StatusOr<ReconcileResult> Reconcile(
      const ReconcileContext& context) = 0;

  // Moves the item into a reconciliation that is in flight.
  virtual std::shared_ptr<Flight> TakeOff(std::shared_ptr<AsyncGate> gate,
                                          Reconciliation::Info info) = 0;

  // Adds the item to the queue. If the queue has an engine, this ends the
  // lease, too, at the same time.
  virtual absl::Status Add(const AddOptions& options) = 0;

  // Returns the number of failures so far.
  virtual int Failures() const = 0;
  // Makes the ledger and the queue forget them.
  virtual absl::Status Forget() = 0;

  // Returns whether to reconcile the item: it is not parked.
  virtual bool ShouldProcess() = 0;

  // The next two are called if there is a ledger.
  //
  // Records the failure. Returns whether the item is parked now.
  virtual bool RecordFailure(const absl::Status& error) = 0;
  // Returns the time after which the rate limiter lets the item, which has
  // failed, be tried again. `asked` is the delay that the error chose, if it
  // did. Returns nothing if the queue must ask its rate limiter.
  virtual std::optional<absl::Duration> ChooseDelay(
      std::optional<absl::Duration> asked) = 0;

  // `SharedFailures::Fail()`, if the engine of the queue keeps the failures.
  virtual absl::StatusOr<FailureOutcome> Fail(
      const absl::Status& error, std::optional<absl::Duration> retry_after) = 0;

 protected:
  ~LeasedItem() = default;
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

// A reconciliation that asynchronous workers have begun. A derived class has
// the item, which the user's code may use after the lease has ended.
class Flight : public Reconciliation,
               public IntrusiveLink<Flight>,
               public std::enable_shared_from_this<Flight> {
 public:
  Flight(std::shared_ptr<AsyncGate> gate, Info info)
      : Reconciliation(std::move(info)), gate_(std::move(gate)) {}

  // The item, with its lease.
  virtual LeasedItem& leased() = 0;
  virtual const LeasedItem& leased() const = 0;

  // Calls the reconcile function.
  virtual void Start(const AsyncReconcileContext& context,
                     ReconcileCompletion done) = 0;

 private:
  friend class AsyncWorkers;

  bool LeaseLost() const override;
  bool OnComplete(absl::StatusOr<ReconcileResult> result) override;
  void OnCompletedTwice() override;

  const std::shared_ptr<AsyncGate> gate_;
  Handle<TaskIdTag> deadline_;
  bool begun_ = false;                  // written before the function is called
  bool threw_ = false;                  // written by the one who ends it
  AfterReconcile after_;                // once complete
  std::shared_ptr<Flight> next_retry_;  // in AsyncWorkers::retries_
  std::shared_ptr<Flight> self_;  // while in flight; see AsyncWorkers::mu_
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LEASED_ITEM_H_
