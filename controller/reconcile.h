// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// controller/reconcile.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_RECONCILE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "clock/clock.h"

namespace controller {

// Result
//
// What a reconcile function that has succeeded returns: `Result()`, if there is
// nothing left to be done until the item is added again.
struct Result {
  // If positive, the item is reconciled again when this has passed, if not
  // before.
  absl::Duration requeue_after = absl::ZeroDuration();

  // The priority of that; the one that the item had, by default. Without
  // meaning for a queue that has no priorities.
  std::optional<int> priority;
};

// ReconcileContext
//
// What a reconcile function is told beside its item. To be used only until it
// returns.
struct ReconcileContext {
  // The controller's.
  const std::string& controller_name;
  clocks::Clock* clock;

  // Notified when the controller is being stopped and no longer waits for what
  // is queued: what takes long should be given up.
  const absl::Notification& stop;

  // When the reconciliation should be over, on `clock`; infinitely far away if
  // the controller has no timeout. It is up to the function to keep to it.
  absl::Time deadline;

  // The priority at which the item was handed out; zero if there are none.
  int priority;

  // How often in a row reconciling the item has failed.
  int failures;

  // Whether to give up: `stop` has been notified, or the deadline has passed.
  bool Cancelled() const {
    return stop.HasBeenNotified() || clock->TimeNow() >= deadline;
  }
};

// ReconcileFunction
//
// Makes the world as it should be for one item. It is called again whenever
// that may have changed, and so must not depend on how often that is.
//
// An error has it called again, later each time; one made by `TerminalError()`
// has not. An exception counts as an error.
template <typename T>
using ReconcileFunction = std::function<absl::StatusOr<Result>(
    const T& item, const ReconcileContext& context)>;

// Returns `error`, marked as one that trying again would not mend: the item is
// not reconciled again until it is added anew. `error` is not OK.
//
// The mark is a payload of the status, and stays with its copies.
absl::Status TerminalError(absl::Status error);

// Returns whether `error` comes from `TerminalError()`.
bool IsTerminalError(const absl::Status& error);

}  // namespace controller

#endif  // WORKQUEUE_CONTROLLER_RECONCILE_H_
