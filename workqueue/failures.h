// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_FAILURES_H_
#define WORKQUEUE_FAILURES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/lease.h"
#include "workqueue/snapshot.h"

namespace workqueue {

struct AddOptions;

// FailureLedgerOptions
//
// When an item that fails again and again is parked. If neither `max_failures`
// nor `max_failing_time` is set, no item is. If both are set, the first limit
// that an item reaches counts.
struct FailureLedgerOptions {
  // If set, an item is parked at this consecutive failure. At least 1.
  std::optional<int> max_failures;

  // An item is parked at a failure that comes at least this time after the
  // first of its consecutive failures. Positive. Infinite means no limit.
  absl::Duration max_failing_time = absl::InfiniteDuration();

  // This and `unpark_on_add` matter only with one of the limits above.

  // The maximum number of parked items. At least 1. While so many items are
  // parked, no other item is parked: an item that reaches a limit goes on being
  // retried, and is parked at its first failure after a place has become free.
  // So no item is lost.
  size_t max_parked = 10000;

  // Whether the next addition of a parked item to the queue puts the item back.
  // An addition during the processing that parks the item counts, and so does
  // one that waits for its time. Set this to false if a source adds all items
  // from time to time.
  bool unpark_on_add = true;

  // The clock of a `FailureLedger`; null means the real clock. Not owned; must
  // outlive the ledger.
  Clock* clock = nullptr;

  // Whether there is a limit, at which an item is parked.
  bool parks() const {
    return max_failures.has_value() ||
           max_failing_time < absl::InfiniteDuration();
  }
};

namespace internal {

// Returns an `absl::InvalidArgumentError` that names the field, at the
// beginning of its message, if a limit is out of its range.
absl::Status CheckFailureLedgerOptions(const FailureLedgerOptions& options);

}  // namespace internal

// FailureNumbers
//
// The numbers of items that fail and are not parked, and that are parked.
struct FailureNumbers {
  size_t failing = 0;
  size_t parked = 0;
};

// Failures
//
// The failures of the items of a queue: how often each has failed, since when,
// and with which error; and the items that are parked: an item that has failed
// too often is not retried, until `Unpark()`, or until it is added to the queue
// again.
//
// The failures are in the memory of this process (`FailureLedger`), or in the
// engine that has the queue (`SharedFailures`): then all processes see the
// same. An engine may not be reached. Then the functions return its error, and
// nobody knows the failures.
//
// Thread-safe.
template <typename T>
class Failures {
 public:
  virtual ~Failures() = default;

  // Puts `item` back: adds it to the queue, and its failures start anew.
  // Returns whether it was parked and has been put back. If the queue does not
  // take it, because it has been shut down, `item` stays parked.
  virtual absl::StatusOr<bool> Unpark(const T& item) = 0;

  // Does so with all items that are parked when the call begins, in the order
  // in which they were parked. Returns the number of items that have been put
  // back. After an error, or if something throws, the first items may have been
  // put back.
  virtual absl::StatusOr<size_t> UnparkAll() = 0;

  // Returns at most `max` items that fail and are not parked, those with the
  // most failures first. Of equal numbers, the item whose failures began first
  // comes first.
  virtual absl::StatusOr<std::vector<FailedItem<T>>> Failing(
      size_t max) const = 0;

  // Returns at most `max` parked items, the last parked one first.
  virtual absl::StatusOr<std::vector<FailedItem<T>>> Parked(
      size_t max) const = 0;

  // Returns the failures of `item`; `absl::NotFoundError` if it has none.
  virtual absl::StatusOr<FailedItem<T>> Find(const T& item) const = 0;

  virtual absl::StatusOr<FailureNumbers> Numbers() const = 0;
};

// FailureOutcome
//
// The result of `SharedFailures::Fail()`.
struct FailureOutcome {
  // The lease had ended, so this call has counted nothing: it had expired, or
  // an earlier call without an answer had ended it.
  bool lost = false;
  int failures = 0;     // consecutive ones
  bool parked = false;  // and otherwise the item is retried after its delay
};

// SharedFailures
//
// The failures of the items of a queue whose engine counts them, for all
// processes: `RateLimitingInterface::AsSharedFailures()`.
template <typename T>
class SharedFailures : public Failures<T> {
 public:
  using Outcome = FailureOutcome;

  // The processing of the item of `*lease` has failed with `error`: ends the
  // lease, counts the failure, and parks the item at a limit of `limits`.
  // Otherwise adds it again, at the priority of the lease, after the delay that
  // `AddOptions::RateLimited(retry_after)` would have. All of this happens at
  // once, or nothing. After a shutdown, an item is not added again.
  //
  // After an error, `*lease` still leases the item, and the caller should try
  // again: a failure that was counted is not counted twice.
  virtual absl::StatusOr<Outcome> Fail(
      Lease<T>* lease, const absl::Status& error,
      const FailureLedgerOptions& limits,
      std::optional<absl::Duration> retry_after) = 0;

  // From now on, the engine parks an item whose lease expires at a limit of
  // `limits`, too. Nobody calls `Fail()` for an item that ends its process. The
  // limits of the process that has called this last count, soon after the call.
  virtual absl::Status SetLimits(const FailureLedgerOptions& limits) = 0;

  // Ends `*lease`, and adds its item as `options` say, which are those of an
  // `AddAfter()`, at the same time. Other options are refused:
  // `absl::InvalidArgumentError`. It is not lost meanwhile, and is added even
  // if the engine's memory is full. After a shutdown, or if the lease was lost,
  // it is not added.
  //
  // After an error, `*lease` still leases the item.
  virtual absl::Status Requeue(Lease<T>* lease, const AddOptions& options) = 0;

  // Returns the number of failures of the item of `lease` before it was handed
  // out. Does not ask the engine.
  virtual int FailuresBefore(const Lease<T>& lease) const = 0;

  // Returns whether the engine has answered when it was asked last, and knows
  // which leases this process has ended. Does not ask the engine.
  virtual bool EndsAreKnown() const = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_FAILURES_H_
