// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/async_reconcile.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue {
namespace internal {

bool Reconciliation::Lost() const {
  // With the lock, the lease does not end.
  MutexLock lock(&mu_);
  return !completed_ && LeaseLost();
}

bool Reconciliation::Cancelled() const {
  return Remaining() <= absl::ZeroDuration();
}

absl::Duration Reconciliation::Remaining() const {
  if (cancelled_) return absl::ZeroDuration();
  // With the lock, neither the lease nor the clock ends.
  MutexLock lock(&mu_);
  if (completed_ || LeaseLost()) return absl::ZeroDuration();
  return std::max(info_.clock_deadline - info_.clock->TimeNow(),
                  absl::ZeroDuration());
}

void Reconciliation::OnCancel(absl::AnyInvocable<void() &&> callback) {
  {
    MutexLock lock(&mu_);
    if (completed_) return;
    if (!cancelled_) {
      std::swap(on_cancel_, callback);
      return;  // The earlier callback is destroyed without the lock.
    }
  }
  if (callback != nullptr) std::move(callback)();
}

void Reconciliation::Cancel() {
  absl::AnyInvocable<void() &&> callback;
  {
    MutexLock lock(&mu_);
    if (completed_ || cancelled_) return;
    cancelled_ = true;
    callback = std::move(on_cancel_);
    on_cancel_ = nullptr;
  }
  if (callback != nullptr) std::move(callback)();
}

bool Reconciliation::TakeEnd() {
  absl::AnyInvocable<void() &&> callback;  // destroyed without the lock
  MutexLock lock(&mu_);
  std::swap(on_cancel_, callback);
  return !completed_.exchange(true);
}

bool Reconciliation::Complete(absl::StatusOr<ReconcileResult> result) {
  if (TakeEnd()) return OnComplete(std::move(result));
  OnCompletedTwice();
  return false;
}

void Reconciliation::DropCompletion() {
  if (completions_.fetch_sub(1) > 1) return;
  if (completed_) return;
  Complete(CatchAsStatus([]() -> absl::StatusOr<ReconcileResult> {
    return absl::AbortedError("the completion was dropped without a call");
  }));
}

}  // namespace internal

namespace {

class FunctionReconciliation final : public internal::Reconciliation {
 public:
  explicit FunctionReconciliation(
      std::function<bool(absl::StatusOr<ReconcileResult>)> f)
      : Reconciliation({/*controller_name=*/nullptr, Clock::GetRealClock(),
                        absl::InfinitePast(), absl::InfiniteFuture(),
                        /*priority=*/0, /*failures=*/0}),
        f_(std::move(f)) {}

 private:
  bool OnComplete(absl::StatusOr<ReconcileResult> result) override {
    return f_(std::move(result));
  }

  void OnCompletedTwice() override {
    // A status without a text needs no memory.
    f_(absl::Status(absl::StatusCode::kFailedPrecondition, ""));
  }

  const std::function<bool(absl::StatusOr<ReconcileResult>)> f_;
};

}  // namespace

ReconcileCompletion MakeCompletion(
    std::function<bool(absl::StatusOr<ReconcileResult>)> f) {
  internal::DieIfNull(f, "function of MakeCompletion()");
  return ReconcileCompletion(
      std::make_shared<FunctionReconciliation>(std::move(f)));
}

}  // namespace workqueue
