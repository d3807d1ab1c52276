// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace internal {

// Reconciliation
//
// An asynchronous reconciliation of one item, without the type of the item. The
// controller and the user's code share ownership, because the user's code may
// keep its context and its completion for longer than the controller exists.
//
// Thread-safe.
class Reconciliation {
 public:
  // What the user's code is told of a reconciliation.
  struct Info {
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
  // `OnCancel()`. Throws what that throws.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

  // Ends the reconciliation. Returns false, and changes nothing, if it has
  // ended before, or if the controller is gone.
  bool Complete(absl::StatusOr<ReconcileResult> result)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Returns true to the first call only, which must call `OnComplete()`.
  bool TakeEnd() ABSL_LOCKS_EXCLUDED(mu_);

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
  sync::Atomic<size_t> completions_{0};

  // Both are written under mu_.
  sync::Atomic<bool> cancelled_{false};
  sync::Atomic<bool> completed_{false};
  mutable sync::Mutex mu_;
  absl::AnyInvocable<void() &&> on_cancel_ ABSL_GUARDED_BY(mu_);
};

}  // namespace internal

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
  // complete.
  int64_t token() const { return reconciliation_->info().token; }
  bool Lost() const { return reconciliation_->Lost(); }

  // Returns whether the result is no longer awaited: the deadline has passed,
  // the lease or the term is lost, the controller does not wait any longer, or
  // the reconciliation is complete.
  bool Cancelled() const { return reconciliation_->Cancelled(); }

  // Returns how much time is left until the deadline: zero if `Cancelled()`,
  // `absl::InfiniteDuration()` if the controller has no timeout.
  absl::Duration Remaining() const { return reconciliation_->Remaining(); }

  // Returns the deadline as a time of the wall clock, as a call of another
  // service needs it: `absl::Now() + Remaining()`.
  absl::Time WallDeadline() const { return absl::Now() + Remaining(); }

  // Calls `callback` once if the reconciliation is cancelled before it is
  // complete: at its deadline, within a second after its lease is lost, when
  // its term is lost, or when the controller does not wait any longer. Use it
  // to cancel the call of a service. The callback must not block. It runs on
  // the thread that watches the deadlines and leases of the controller, on the
  // thread of the source that has the term, on the thread that stops the
  // controller, or, if the reconciliation has been cancelled already, on the
  // calling thread. An exception from it is logged, but on the calling thread
  // it reaches the caller. It is destroyed when the reconciliation is complete,
  // but a call in progress then goes on. A later callback replaces an earlier
  // one, and null is none.
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

// MakeCompletion
//
// Returns a completion that belongs to no controller: it calls `f` with the
// result, and returns what `f` returns. If all its copies are destroyed without
// a call, `f` gets an `absl::AbortedError`. If it is called again, `f` gets an
// `absl::FailedPreconditionError`, and the completion returns false.
//
// Use it to call an asynchronous reconcile function in a test, or around a
// controller's completion, to learn of the result before the controller does:
//
//     f(item, context,
//       workqueue::MakeCompletion(
//           [done](absl::StatusOr<workqueue::ReconcileResult> result) {
//             Count(result.status());
//             return done(std::move(result));
//           }));
//
// Aborts the program if `f` is null. It is called on the thread that calls the
// completion, and destroyed with the last copy of the completion. It must not
// throw.
ReconcileCompletion MakeCompletion(
    std::function<bool(absl::StatusOr<ReconcileResult>)> f);

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_ASYNC_RECONCILE_H_
