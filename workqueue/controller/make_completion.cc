// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/make_completion.h"

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/internal/reconciliation.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue {
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
  return ReconcileCompletion(
      std::make_shared<FunctionReconciliation>(std::move(f)));
}

}  // namespace workqueue
