// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_BYTE_QUEUE_H_
#define WORKQUEUE_SHARED_INTERNAL_BYTE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/snapshot.h"

namespace workqueue::internal {

// HeldItem
//
// An item that the engine has handed out to this process, until the process has
// told the engine the end of the processing. The members of `HandedOut` do not
// change.
struct HeldItem : HandedOut {
  HeldItem(HandedOut out, uint64_t the_id)
      : HandedOut(std::move(out)), id(the_id) {}

  // Unique in this process. Tokens of different partitions may be equal.
  const uint64_t id;
  sync::Atomic<bool> lost{false};  // the engine has taken the item back
  // An operation that ends the lease is on its way, or has been applied. The
  // item may come back before it is known here that it is over.
  sync::Atomic<bool> ending{false};
  // When the lease expires at the latest, unless it is renewed; guarded by the
  // lock of the queue.
  absl::Time expiry;
  // When a worker took the item; guarded as well.
  absl::Time taken = absl::InfiniteFuture();
  // The same item, which the engine has handed out again meanwhile, or null;
  // guarded as well. See `SharedQueueCore`.
  HeldItem* held_back = nullptr;
};

// Which items a snapshot has. One of the numbers alone, which is neither of one
// item nor of those that fail, is a request: it does what is due.
struct ByteSnapshotOptions : SnapshotOptions<std::string> {
  // Only those that fail or are parked. Of one item, asks its partition only.
  bool failures_only = false;
};

// Aborts the program if this thread runs the executor of one of `waiters`, a
// map of those of a queue, whose destructor would wait for ever.
template <typename Waiters>
void DieIfRunsHere(const Waiters& waiters) {
  for (const auto& [id, waiter] : waiters) {
    if (waiter.executor == nullptr || !waiter.executor->RunsHere()) continue;
    Fatal(
        "a shared queue is destroyed on the thread that runs an executor, "
        "before its callbacks have been called; shut it down first, and let "
        "the loop run");
  }
}

// Adds `client` to the clients of `*snapshot`, or joins it with the one of its
// name.
void AddClient(const EngineSnapshot::Client& client, EngineSnapshot* snapshot);

// The same for a bound. `extends` tells whether both count, as those of several
// partitions do.
void AddBound(EngineSnapshot::Bound bound, bool extends,
              EngineSnapshot* snapshot);

// The error of a request that was not made. Does not throw.
inline absl::Status NoMemoryError() {
  return MakeError(absl::StatusCode::kUnavailable,
                   "there is no memory for the request");
}

// ByteQueue
//
// A shared queue of byte strings, as one process sees it: the part of a
// `SharedQueue` that does not depend on the type of its items.
//
// Thread-safe.
class ByteQueue {
 public:
  using Callback = absl::AnyInvocable<void(absl::StatusOr<HeldItem*> item) &&>;

  virtual ~ByteQueue() = default;

  virtual Clock* clock() const = 0;
  virtual const Ticks& ticks() const = 0;

  // Applies `operations`, and returns their results.
  virtual absl::StatusOr<std::vector<int64_t>> Apply(
      std::vector<EngineOperation> operations) = 0;

  // Applies `ends`, which may be empty. Then blocks until there is an item, or
  // for `timeout`, and returns up to `max` items. Errors are those of
  // `Interface::AcquireUpToWithTimeout()`.
  virtual absl::StatusOr<std::vector<HeldItem*>> Acquire(
      size_t max, absl::Duration timeout,
      std::vector<EngineOperation> ends) = 0;

  // Gives the engine `limits` soon, and again if it has lost them. Those of the
  // last process count.
  virtual void SetLimits(const EngineOperation& limits) = 0;

  virtual AcquireId AcquireAsync(Executor* executor, Callback callback) = 0;
  virtual bool CancelAcquire(AcquireId id) = 0;

  // Returns the operation that ends the processing of `*held`, and forgets and
  // destroys `*held`. An item that was held back until then goes to a worker.
  // The operation must be applied, unless its code is that of one that has
  // been. Does not throw, nor do the following three.
  virtual EngineOperation End(HeldItem* held, EngineOperation::Code code) = 0;

  // A result of `End()` is applied later: there was no memory for that.
  virtual void NoteUnsent(const EngineOperation& end) = 0;

  // Applies the results of `End()`. Returns whether all leases had lasted until
  // then, or an error if the engine may not know of the end.
  absl::StatusOr<bool> ApplyEnds(std::vector<EngineOperation> ends) {
    absl::StatusOr<std::vector<int64_t>> results = Apply(std::move(ends));
    if (!results.ok()) return results.status();
    return std::find(results->begin(), results->end(), kFalse) ==
           results->end();
  }
  absl::StatusOr<bool> ApplyEnd(EngineOperation end) {
    std::vector<EngineOperation> ends;
    if (!TryCall([&] { ends.reserve(1); })) {
      NoteUnsent(end);
      return NoMemoryError();
    }
    ends.push_back(std::move(end));
    return ApplyEnds(std::move(ends));
  }

  // An item that `Get()` returns by value is known until `Done()` by its bytes,
  // as this process writes them. Nothing is held back because of it: nobody
  // knows whether its `Done()` will come.
  virtual void Remember(std::string bytes, HeldItem* held) = 0;
  // Returns the earliest item of these bytes, or null if there is none.
  virtual HeldItem* Recall(const std::string& bytes) = 0;

  // Whether this process holds `item`.
  virtual bool Holds(const std::string& item) = 0;

  // Whether `*held` may have been handed out to another worker.
  virtual bool IsLost(const HeldItem& held) = 0;

  // As that of `Interface`, of the bytes of items.
  virtual absl::StatusOr<EngineSnapshot> TakeSnapshotWith(
      const ByteSnapshotOptions& options) = 0;

  virtual absl::Status ShutDown() = 0;
  virtual absl::StatusOr<bool> ShutDownWithDrain(absl::Duration timeout) = 0;
  virtual absl::Status Reopen() = 0;
  virtual void Close() = 0;
  // Blocks until no item is held, and the engine has heard of all ends, or for
  // `timeout`.
  virtual bool AwaitNothingHeld(absl::Duration timeout) = 0;
  // See `SharedFailures`.
  virtual bool EndsAreKnown() const = 0;
  virtual bool ShuttingDown() const = 0;
  virtual absl::Status Healthy() const = 0;
  virtual bool closed() const = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_BYTE_QUEUE_H_
