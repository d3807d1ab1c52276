// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/controller/internal/reconciliation.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue {

// AsyncReconcileContext
//
// The context of one call of an asynchronous reconcile function.
//
// Copyable. A copy may be used at any time, also after the controller has been
// destroyed. Thread-safe.
class AsyncReconcileContext {
 public:
  explicit AsyncReconcileContext(
      std::shared_ptr<internal::Reconciliation> reconciliation)
      : reconciliation_(std::move(reconciliation)) {}

  // The controller's name.
  const std::string& controller_name() const {
    return *reconciliation_->info().controller_name;
  }

  // The priority at which the item was handed out; zero if the queue has no
  // priorities.
  int priority() const { return reconciliation_->info().priority; }

  // The number of consecutive failures of the item: see
  // `ReconcileContext::failures`.
  int failures() const { return reconciliation_->info().failures; }

  // See `ReconcileContext`. `Lost()` returns false once the reconciliation is
  // complete. A lease that is lost does not call the callback of `OnCancel()`.
  int64_t token() const { return reconciliation_->info().token; }
  bool Lost() const { return reconciliation_->Lost(); }

  // Returns whether the result is no longer awaited: the deadline has passed,
  // the lease is lost, the controller does not wait any longer, or the
  // reconciliation is complete.
  bool Cancelled() const { return reconciliation_->Cancelled(); }

  // Returns how much time is left until the deadline: zero if `Cancelled()`,
  // `absl::InfiniteDuration()` if the controller has no timeout.
  absl::Duration Remaining() const { return reconciliation_->Remaining(); }

  // Returns the deadline as a time of the wall clock, as a call of another
  // service needs it: `absl::Now() + Remaining()`.
  absl::Time WallDeadline() const { return absl::Now() + Remaining(); }

  // Calls `callback` once if the reconciliation is cancelled before it is
  // complete: at its deadline, or when the controller does not wait any longer.
  // Use it to cancel the call of a service. The callback must not block. It
  // runs on the thread that watches the deadlines of the controller, on the
  // thread that stops the controller, or, if the reconciliation has been
  // cancelled already, on the calling thread. It is destroyed when the
  // reconciliation is complete, but a call in progress then goes on. A later
  // callback replaces an earlier one.
  void OnCancel(absl::AnyInvocable<void() &&> callback) const {
    reconciliation_->OnCancel(std::move(callback));
  }

 private:
  std::shared_ptr<internal::Reconciliation> reconciliation_;
};

// ReconcileCompletion
//
// The function by which an asynchronous reconciliation ends. Call it once, from
// any thread, before or after the reconcile function has returned. A
// reconciliation is in flight until then.
//
// If all copies are destroyed without a call, the reconciliation ends with an
// `absl::AbortedError`, which counts as any error does.
//
// Copyable, so that it can be captured by a `std::function`. Different threads
// may call different copies.
class ReconcileCompletion {
 public:
  // Must not be called.
  ReconcileCompletion() = default;

  explicit ReconcileCompletion(
      std::shared_ptr<internal::Reconciliation> reconciliation)
      : reconciliation_(std::move(reconciliation)) {
    reconciliation_->AddCompletion();
  }
  ReconcileCompletion(const ReconcileCompletion& other)
      : reconciliation_(other.reconciliation_) {
    if (reconciliation_ != nullptr) reconciliation_->AddCompletion();
  }
  ReconcileCompletion(ReconcileCompletion&& other) noexcept
      : reconciliation_(std::exchange(other.reconciliation_, nullptr)) {}

  ReconcileCompletion& operator=(ReconcileCompletion other) noexcept {
    std::swap(reconciliation_, other.reconciliation_);
    return *this;
  }

  ~ReconcileCompletion() {
    if (reconciliation_ != nullptr) reconciliation_->DropCompletion();
  }

  // Ends the reconciliation with `result`, as if a synchronous reconcile
  // function had returned it. The calling thread does what follows: it adds the
  // item again if that is necessary, and submits the next one to the executor.
  // If the controller's queue is in an engine, as a `SharedQueue` is, threads
  // of the controller do that, so that this never waits for the engine.
  //
  // Returns true if the controller has taken the result. Returns false, and
  // does nothing else, if the reconciliation is complete already, which the
  // controller also logs as an error, or if the controller has been destroyed.
  bool operator()(absl::StatusOr<ReconcileResult> result) const {
    return reconciliation_->Complete(std::move(result));
  }
  bool operator()(absl::Status status) const {
    if (status.ok()) return reconciliation_->Complete(ReconcileResult());
    return reconciliation_->Complete(std::move(status));
  }
  bool operator()(ReconcileResult result) const {
    return reconciliation_->Complete(result);
  }

 private:
  std::shared_ptr<internal::Reconciliation> reconciliation_;
};

// AsyncReconcileFunction
//
// A function that starts to bring the actual state of one item to the desired
// state. It returns soon; `done` is called when the work is over. So many items
// can be in flight on a few threads. Everything else is as with a
// `ReconcileFunction`. An exception that the function throws ends the
// reconciliation with an error.
//
// `item` is valid until the reconciliation is complete and all copies of
// `context` and `done` have been destroyed.
//
// Example:
//
//     options.reconcile_async = [&](const std::string& key,
//                                   const AsyncReconcileContext& context,
//                                   ReconcileCompletion done) {
//       auto* const call = new Call(key, context.WallDeadline());
//       context.OnCancel([call] { call->rpc.TryCancel(); });
//       stub.async()->Deploy(&call->rpc, &call->request, &call->response,
//                            [call, done](grpc::Status status) {
//                              done(ToAbslStatus(status));
//                              delete call;
//                            });
//     };
//
// Several threads may call the function at the same time, for different items.
template <typename T>
using AsyncReconcileFunction =
    std::function<void(const T& item, const AsyncReconcileContext& context,
                       ReconcileCompletion done)>;

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_
