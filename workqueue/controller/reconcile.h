// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_RECONCILE_H_
#define WORKQUEUE_CONTROLLER_RECONCILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// ReconcileResult
//
// The result of a reconcile function that succeeded. The default value means
// that nothing is left to do until the item is added again.
struct ReconcileResult {
  // If not zero, the item is added again after this time, as `AddAfter()` adds
  // it: at once if the time is negative, for example because it was computed as
  // the rest of a time that has passed; never if it is infinite.
  absl::Duration requeue_after = absl::ZeroDuration();

  // The priority at which `requeue_after` adds the item. By default the item
  // keeps its priority, as in controller-runtime: an item that a first listing
  // added at -100 stays at -100 until it is added at a higher priority. After
  // an error, the item always keeps its priority. Ignored by a queue without
  // priorities.
  std::optional<int> priority = std::nullopt;

  // The result is neither a success nor a failure: the item's failures stay
  // counted. Without `requeue_after`, the item is given back
  // (`Lease::GiveBack()`), and any worker takes it at once.
  bool not_now = false;

  // Returns the result of a function that cannot do its work now, for example
  // because the object is locked: the item comes back after `delay`.
  static ReconcileResult NotNow(absl::Duration delay) {
    ReconcileResult result;
    result.requeue_after = delay;
    result.not_now = true;
    return result;
  }
};

// ReconcileContext
//
// The context of one call of a reconcile function. Valid until the function
// returns.
struct ReconcileContext {
  // The controller's name and clock.
  const std::string& controller_name;
  Clock* clock;

  // Notified when the controller is being stopped and does not wait any longer
  // for the queued items. The function should then return soon.
  const sync::Notification& stop;

  // The time on `clock` at which the reconciliation should be over;
  // `absl::InfiniteFuture()` if the controller has no timeout. The controller
  // does not interrupt the function: the function must observe its deadline.
  //
  // This is not a time of the wall clock: see `WallDeadline()`.
  absl::Time clock_deadline;

  // The priority at which the item was handed out; zero if the queue has no
  // priorities.
  int priority;

  // The number of consecutive failures of the item, as the queue's rate limiter
  // counts them (`NumRequeues()`). A rate limiter with a bound may have
  // forgotten failures. A `BucketRateLimiter` counts none.
  int failures;

  // `Lease::token()` of the item, or `Source::term()` if that is zero, and a
  // function that returns whether the lease or the term is lost.
  int64_t token = 0;
  absl::FunctionRef<bool()> lease_lost = KeepsLease;

  // Returns whether the item may be in the hands of another worker, because its
  // lease has expired or this process does not lead any more: see
  // `Source::term`. Otherwise false with a queue in memory. A store that
  // refuses a write with a lower `token` protects what this function cannot:
  // the time until it is asked.
  bool Lost() const { return lease_lost(); }

  // Returns whether the function should return soon: `stop` has been notified,
  // the deadline has passed, or `Lost()`.
  bool Cancelled() const {
    return stop.HasBeenNotified() || clock->TimeNow() >= clock_deadline ||
           Lost();
  }

  // Returns how much time is left until the deadline: zero if the deadline has
  // passed, `absl::InfiniteDuration()` if there is none.
  absl::Duration Remaining() const {
    return (std::max)(clock_deadline - clock->TimeNow(), absl::ZeroDuration());
  }

  // Returns the deadline as a time of the wall clock, as a call of another
  // service needs it: `absl::Now() + Remaining()`.
  absl::Time WallDeadline() const { return absl::Now() + Remaining(); }

  static bool KeepsLease() { return false; }
};

// ReconcileFunction
//
// A function that brings the actual state of one item to the desired state. The
// controller calls it each time that either state may have changed. So the
// function must be idempotent.
//
// After an error, the controller calls the function again, later each time. But
// after a `TerminalError()`, it does not. A `RetryAfterError()`
// (workqueue/retry_after.h) chooses the delay, for example that of a server's
// `Retry-After`. An exception counts as an error.
//
// An error after `ReconcileContext::stop` has been notified, or after the end
// of a term of leadership, is no failure of the item, unless it is a
// `TerminalError()`: the controller gives the item back. So another process
// that shares the queue takes it at once.
//
// A `ReconcileFunction` is made from a copyable function or function object.
// The function takes the item and the context, or the item alone. It returns an
// `absl::StatusOr<ReconcileResult>`, a `ReconcileResult` or an `absl::Status`.
// An OK status means `ReconcileResult()`.
//
// Example:
//
//     absl::Status Deploy(const std::string& key);
//
//     options.reconcile = Deploy;
//
// Several workers may call the function at the same time, for different items.
template <typename T>
class ReconcileFunction {
  template <typename F>
  static constexpr bool kTakesContext =
      std::is_invocable_v<F&, const T&, const ReconcileContext&>;

 public:
  // Make an empty function, which must not be called.
  ReconcileFunction() = default;
  ReconcileFunction(std::nullptr_t) {}  // NOLINT(runtime/explicit)

  // Makes a function that calls `f`. The function is empty if `f` is null or an
  // empty `std::function`.
  template <typename F,
            typename = std::enable_if_t<kTakesContext<F> ||
                                        std::is_invocable_v<F&, const T&>>>
  ReconcileFunction(F f) {  // NOLINT(runtime/explicit)
    if (IsNull(f, 0)) return;
    function_ = [f = std::move(f)](const T& item,
                                   const ReconcileContext& context) mutable {
      if constexpr (kTakesContext<F>) {
        return ResultOf(f, item, context);
      } else {
        return ResultOf(f, item);
      }
    };
  }

  absl::StatusOr<ReconcileResult> operator()(
      const T& item, const ReconcileContext& context) const {
    return function_(item, context);
  }

  explicit operator bool() const { return function_ != nullptr; }

 private:
  // The first one takes what can be compared with null.
  template <typename F>
  static auto IsNull(const F& f, int) -> decltype(f == nullptr) {
    return f == nullptr;
  }
  template <typename F>
  static bool IsNull(const F&, long) {  // NOLINT(runtime/int)
    return false;
  }

  template <typename F, typename... Args>
  static absl::StatusOr<ReconcileResult> ResultOf(F& f, const Args&... args) {
    using Returned = std::decay_t<std::invoke_result_t<F&, const Args&...>>;
    static_assert(
        std::is_convertible_v<Returned, absl::StatusOr<ReconcileResult>>,
        "a reconcile function returns an absl::StatusOr<ReconcileResult>, a "
        "ReconcileResult or an absl::Status");
    Returned returned = f(args...);
    if constexpr (std::is_same_v<Returned, absl::Status>) {
      if (returned.ok()) return ReconcileResult();
    }
    return returned;
  }

  std::function<absl::StatusOr<ReconcileResult>(const T&,
                                                const ReconcileContext&)>
      function_;
};

// Returns `error`, marked as an error that a retry would not fix. The
// controller does not reconcile the item again until the item is added again.
// An OK status becomes an `absl::InternalError`.
//
// The mark is a payload of the status. Copies of the status keep it. It counts
// even if the status is a `RetryAfterError()`, too.
absl::Status TerminalError(absl::Status error);

// Returns whether `error` comes from `TerminalError()`.
bool IsTerminalError(const absl::Status& error);

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_RECONCILE_H_
