// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/internal/leased_item.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/loop_executor.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

class Scheduler;

namespace internal {

class ControllerCore;

// AsyncWorkers
//
// Reconciles the items of a queue with an asynchronous function. At most
// `max_in_flight` reconciliations are in flight. While there are fewer, one
// callback waits for the next item, or as many as one request to an engine
// ends.
//
// The calls of a queue on an engine may block for as long as the engine does
// not answer. So they, and the waits for a retry, are tasks of `engine_calls`.
// The executor and the threads of completions, which may be event loops, only
// hand over to it. If the program drives the loop of a queue in memory, the
// waits for a retry are tasks of `deadlines`.
//
// Completions may outlive this object, and are called on any thread. They use
// it only inside of a gate, which `Close()` closes.
//
// Thread-safe.
class AsyncWorkers {
 public:
  ~AsyncWorkers();

  AsyncWorkers(const AsyncWorkers&) = delete;
  AsyncWorkers& operator=(const AsyncWorkers&) = delete;

  // Called before anything else. `core` is not owned.
  void SetCore(ControllerCore* core) { core_ = core; }

  // Begins to acquire items. Called once.
  void Start();

  // Looks again whether to stand by. Called when the term may have changed, or
  // the controller stops.
  void GoOn();

  // Cancels the reconciliations in flight whose lease or term is lost, and all
  // of them once `ControllerCore::abandoning()` has been notified. Called then,
  // when the term may have changed, and each second if an engine keeps the
  // leases or there are terms, whose source returns when a stop begins.
  void CancelFlights();

  // Blocks until no item is being acquired and no result is being handled, also
  // by `engine_calls`, which ask the engine as long as a call may take. Then
  // gives the items in flight back to the queue. The queue must have been
  // closed, and `CancelFlights()` been called.
  void Close();

  // Returns whether the calling thread runs the reconcile function.
  bool RunsThisThread() const;

  // Called when there is an item, or with the error of the queue.
  void OnAcquired(const absl::Status& status, LeasedItem& item);

 private:
  friend class Flight;
  friend absl::StatusOr<std::shared_ptr<AsyncWorkers>> MakeAsyncWorkers(
      const ControllerOptionsBase& options, const GivenOptions& given);

  using FlightPtr = std::shared_ptr<Flight>;

  // Ends the lease of `*ended`, if it is not null, and waits for the next item.
  // The caller has counted that in acquiring_, and has asked `MayAcquire()`.
  void Acquire(LeasedItem* ended);
  bool MayAcquire() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AcquireMore();
  // A wait for an item has led to one, or to nothing.
  void EndAcquire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Logs `error`, and acquires later.
  void RetryAcquire(const absl::Status& error);
  // Acquires again, or stops that.
  void AcquireAgain();
  // Lets `deadlines` call `retry` in a moment. Returns false if there is no
  // memory for that.
  bool CallLater(absl::AnyInvocable<void()> retry);

  // Acquires no item until `GoOn()`.
  void StandBy();

  // No further item is acquired, but for those that an end has queued again.
  void StopAcquiring();

  // Cancels a reconciliation. Logs an exception of its callback: no caller here
  // could do anything about it.
  void Cancel(const FlightPtr& flight);

  // Calls the reconcile function.
  void Begin(const FlightPtr& flight);
  // Returns the executor whose threads call the queue.
  Executor* caller() const {
    return engine_calls_ != nullptr ? engine_calls_.get() : executor_;
  }

  void End(const FlightPtr& flight,
           const absl::StatusOr<ReconcileResult>& result);
  // Tasks of `engine_calls`: end the item of `flight`, and try all items again
  // that the engine did not let end. One task at most waits for that.
  void CallEnd(const FlightPtr& flight);
  void RetryEnds();

  // Tries in a moment to end the item of `flight`, on the driven loop.
  void RetryEndLater(const FlightPtr& flight);

  // The item of `flight` has been added again, if necessary.
  void EndLease(const FlightPtr& flight);

  // Tells the controller if all is over.
  void EndIfOver();

  explicit AsyncWorkers(size_t max_in_flight);

  ControllerCore* core_ = nullptr;
  // The executor, and its owner if it is the controller's. Destroyed after the
  // queue, which uses it.
  Executor* executor_ = nullptr;
  std::unique_ptr<Executor> pool_;
  // `pool_`, if it is that of a loop that the program drives, or null.
  LoopExecutor* loop_executor_ = nullptr;
  bool on_driven_loop_ = false;
  // Calls the queue; null if the queue is in memory.
  std::unique_ptr<Executor> engine_calls_;
  // Whether a lease or a term can be lost without notice.
  bool looks_for_lost_ = false;
  // Cancels reconciliations at their deadlines, and those whose lease or term
  // is lost. Null if there are neither deadlines nor leases of an engine nor
  // terms, nor a loop that the program drives.
  std::unique_ptr<Scheduler> deadlines_;
  const size_t max_in_flight_;
  const std::shared_ptr<AsyncGate> gate_;

  sync::Mutex mu_;
  IntrusiveList<Flight> in_flight_ ABSL_GUARDED_BY(mu_);
  // How many items are being waited for, also while standing by and between
  // tries.
  size_t acquiring_ ABSL_GUARDED_BY(mu_) = 0;
  bool retries_acquire_ ABSL_GUARDED_BY(mu_) = false;
  // Whether an item in memory has ended, and may be queued again, since
  // somebody began to wait. Who learns then that the queue is closed must look
  // again.
  bool ends_uncollected_ ABSL_GUARDED_BY(mu_) = false;
  // Whether `deadlines` acquires again.
  bool acquires_later_ ABSL_GUARDED_BY(mu_) = false;
  bool standing_by_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_acquiring_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  sync::CondVar not_acquiring_;
  // The number of flights that `engine_calls` have to end, those whose leases
  // are ending, and those of the former that must be tried again.
  size_t ending_ ABSL_GUARDED_BY(mu_) = 0;
  size_t unanswered_ ABSL_GUARDED_BY(mu_) = 0;
  FlightPtr retries_ ABSL_GUARDED_BY(mu_);
  sync::CondVar none_ending_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_
