// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/reconcile.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_RECONCILE_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// ReconcileResult
//
// What a reconcile function that has succeeded returns: `ReconcileResult()`, if
// there is nothing left to be done until the item is added again.
struct ReconcileResult {
  // If positive, the item is reconciled again when this has passed, if not
  // before.
  absl::Duration requeue_after = absl::ZeroDuration();

  // The priority of that; the one that the item had, by default. Without
  // meaning for a queue that has no priorities.
  std::optional<int> priority = std::nullopt;
};

// ReconcileContext
//
// What a reconcile function is told beside its item. To be used only until it
// returns.
struct ReconcileContext {
  // The controller's.
  const std::string& controller_name;
  Clock* clock;

  // Notified when the controller is being stopped and no longer waits for what
  // is queued: what takes long should be given up.
  const absl::Notification& stop;

  // When the reconciliation should be over, on `clock`; infinitely far away if
  // the controller has no timeout. It is up to the function to keep to it.
  absl::Time deadline;

  // The priority at which the item was handed out; zero if there are none.
  int priority;

  // How often in a row reconciling the item has failed, as the queue's rate
  // limiter counts it (`NumRequeues()`): one with a bound may have forgotten
  // some, and a `BucketRateLimiter` counts none.
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
// After an error it is called again, later each time, but not after one made by
// `TerminalError()`. An exception counts as an error.
//
// Made of anything copyable that can be called with the item and the context,
// or with the item alone, and that returns an
// `absl::StatusOr<ReconcileResult>`, a `ReconcileResult` or an `absl::Status`,
// of which OK is as good as `ReconcileResult()`:
//
//     absl::Status MakeItSo(const std::string& key);
//
//     options.reconcile = MakeItSo;
//
// Several workers may call it at the same time, for different items.
template <typename T>
class ReconcileFunction {
  template <typename F>
  static constexpr bool kTakesContext =
      std::is_invocable_v<F&, const T&, const ReconcileContext&>;

 public:
  // An empty one, which must not be called.
  ReconcileFunction() = default;
  ReconcileFunction(std::nullptr_t) {}  // NOLINT(runtime/explicit)

  // Calls `f`. Empty if `f` is null or an empty `std::function`.
  template <typename F,
            typename = std::enable_if_t<kTakesContext<F> ||
                                        std::is_invocable_v<F&, const T&>>>
  ReconcileFunction(F f) {  // NOLINT(runtime/explicit)
    if constexpr (kTakesContext<F>) {
      using Returned =
          std::invoke_result_t<F&, const T&, const ReconcileContext&>;
      Set(std::function<Returned(const T&, const ReconcileContext&)>(
          std::move(f)));
    } else {
      using Returned = std::invoke_result_t<F&, const T&>;
      Set(std::function<Returned(const T&)>(std::move(f)));
    }
  }

  absl::StatusOr<ReconcileResult> operator()(
      const T& item, const ReconcileContext& context) const {
    return function_(item, context);
  }

  explicit operator bool() const { return function_ != nullptr; }

 private:
  template <typename Returned>
  static constexpr void Check() {
    static_assert(
        std::is_convertible_v<Returned, absl::StatusOr<ReconcileResult>>,
        "a reconcile function returns an absl::StatusOr<ReconcileResult>, a "
        "ReconcileResult or an absl::Status");
  }

  template <typename Returned>
  void Set(std::function<Returned(const T&, const ReconcileContext&)> f) {
    Check<Returned>();
    if (f == nullptr) return;
    function_ = [f = std::move(f)](const T& item,
                                   const ReconcileContext& context) {
      return ToResult(f(item, context));
    };
  }
  template <typename Returned>
  void Set(std::function<Returned(const T&)> f) {
    Check<Returned>();
    if (f == nullptr) return;
    function_ = [f = std::move(f)](const T& item, const ReconcileContext&) {
      return ToResult(f(item));
    };
  }

  static absl::StatusOr<ReconcileResult> ToResult(
      absl::StatusOr<ReconcileResult> result) {
    return result;
  }
  static absl::StatusOr<ReconcileResult> ToResult(absl::Status status) {
    if (!status.ok()) return status;
    return ReconcileResult();
  }

  std::function<absl::StatusOr<ReconcileResult>(const T&,
                                                const ReconcileContext&)>
      function_;
};

// Returns `error`, marked as one that trying again would not mend: the item is
// not reconciled again until it is added anew. An OK status becomes an
// `absl::InternalError`.
//
// The mark is a payload of the status, and stays with its copies.
absl::Status TerminalError(absl::Status error);

// Returns whether `error` comes from `TerminalError()`.
bool IsTerminalError(const absl::Status& error);

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_RECONCILE_H_
