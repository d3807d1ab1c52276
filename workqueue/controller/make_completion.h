// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_MAKE_COMPLETION_H_
#define WORKQUEUE_CONTROLLER_MAKE_COMPLETION_H_

#include <functional>

#include "absl/status/statusor.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue {

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
// `f` must not be null. It is called on the thread that calls the completion,
// and destroyed with the last copy of the completion. It must not throw.
ReconcileCompletion MakeCompletion(
    std::function<bool(absl::StatusOr<ReconcileResult>)> f);

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_MAKE_COMPLETION_H_
