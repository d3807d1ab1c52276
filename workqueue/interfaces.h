// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/interfaces.h
// -----------------------------------------------------------------------------
//
// The interfaces of work queues, one for each layer. Code that uses a queue (a
// controller's workers, its event handlers) takes one of these and so works
// with any implementation. `Queue`, `DelayingQueue`, `RateLimitingQueue` and
// `PriorityQueue` are the implementations of this library.
//
// The interfaces contain no implementation. `workqueue/queue_base.h` has the
// parts that a new implementation can start from, and
// `workqueue/testing/queue_test_suite.h` the tests that it must pass.
//
// Every implementation keeps the promises of k8s.io/client-go/util/workqueue:
//
//   * Fair: items are processed in the order in which they are added, unless
//     the implementation is made to order them otherwise.
//   * Stingy: an item is never processed by two workers at the same time, and
//     an item that is added several times before it is processed is processed
//     once.
//   * Many producers and many consumers. In particular, an item may be added
//     while it is being processed; it is then processed again.
//   * Shutdown notifications.

#ifndef WORKQUEUE_INTERFACES_H_
#define WORKQUEUE_INTERFACES_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/handle.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// AcquireCallback
//
// A function that receives a lease of an item, or the error that
// `Interface::AcquireWithTimeout()` would return.
template <typename T>
using AcquireCallback =
    absl::AnyInvocable<void(absl::StatusOr<Lease<T>> lease) &&>;

namespace internal {
struct AcquireTag;
}  // namespace internal

// AcquireId
//
// Names a callback that waits for an item, for `Interface::CancelAcquire()`. An
// id can be kept for any time: once its callback has run, it names nothing, and
// never another callback. Copyable, comparable and hashable; a
// default-constructed id names nothing.
using AcquireId = internal::Handle<internal::AcquireTag>;

// Interface
//
// A queue of items to process. At most one worker processes an item at a time.
//
// Example, the loop of a worker:
//
//     while (std::optional<std::string> key = queue->Get()) {
//       Reconcile(*key);
//       queue->Done(*key);
//     }
//
// A controller needs `Add()`, `Get()`, `Done()` and `ShutDown()`. The other
// functions hand out leases in the place of `Done()`, bound how long a call
// blocks, take several items at a time, or tell what is in the queue.
//
// `T` is copyable. Two equal items are the same item.
//
// An implementation keeps its items in the memory of this process, as all
// queues of this library do, or in an engine that several processes share. Such
// an engine can fail to be reached, and its queue outlives the clients. So a
// call that can fail has a form that returns the error, and `Close()`, by which
// a client leaves, differs from `ShutDown()`.
//
// Thread-safe. The caller must ensure that no call is in progress when the
// queue is destroyed, apart from calls that block: the destructor of a queue of
// this library shuts the queue down and waits for calls that block in it. They
// return nothing, as after `ShutDown()`. (A call counts as finished once a
// blocked call has observed its effect.) All leases must have ended: otherwise
// the program ends with a message that names the queue and an item.
template <typename T>
class Interface {
 public:
  virtual ~Interface() = default;

  // Marks `item` as in need of processing. Does not wait for the processing of
  // any item.
  //
  // Returns true if `item` will be processed because of this call or an earlier
  // one. Returns false if the queue did not take it: the queue is shutting
  // down, or an implementation could not reach its engine. `ShuttingDown()`
  // tells the two cases apart.
  virtual bool Add(const T& item) = 0;

  // Adds each of `items` in order, as one `Add()` each does, but takes the lock
  // once. Returns false if the queue did not take all of them. If something
  // throws, the first items may have been added.
  virtual bool AddAll(absl::Span<const T> items) = 0;

  // Blocks until there is an item to process, and returns it. Returns
  // `std::nullopt` when the queue has been shut down and is empty: the worker
  // should end.
  //
  // The item is being processed until `Done()` is called with it. The caller
  // must call `Done()` exactly once.
  virtual std::optional<T> Get() = 0;

  // Does what `Get()` does, but blocks no longer than `timeout`. Returns
  //
  //   * `absl::DeadlineExceededError` if there was no item within `timeout`,
  //   * `absl::CancelledError` if the queue has been shut down and is empty,
  //     so that the worker should end,
  //   * any other error if an implementation could not reach its engine, so
  //     that the worker should try again later.
  //
  // Here and below, a timeout is measured on the queue's clock. A call whose
  // timeout is zero or negative does not block. An infinite timeout never
  // passes.
  virtual absl::StatusOr<T> GetWithTimeout(absl::Duration timeout) = 0;

  // `GetWithTimeout()`, without blocking.
  absl::StatusOr<T> TryGet() { return GetWithTimeout(absl::ZeroDuration()); }

  // Ends the processing of `item`, which a get has returned. If `item` was
  // added meanwhile, it is queued again.
  //
  // Returns false and does nothing if there is nothing to end: no get returned
  // `item`, `Done()` has been called already, `item` is leased (only its lease
  // ends that), or an implementation that hands items out for a limited time
  // has taken `item` back.
  virtual bool Done(const T& item) = 0;

  // Does what `GetWithTimeout()` does, but returns a lease, which ends the
  // processing when it is destroyed.
  virtual absl::StatusOr<Lease<T>> AcquireWithTimeout(
      absl::Duration timeout) = 0;

  // `AcquireWithTimeout()` without a timeout, and without blocking.
  absl::StatusOr<Lease<T>> Acquire() {
    return AcquireWithTimeout(absl::InfiniteDuration());
  }
  absl::StatusOr<Lease<T>> TryAcquire() {
    return AcquireWithTimeout(absl::ZeroDuration());
  }

  // Ends `*lease`, if it leases an item, and acquires the next item into it as
  // `Acquire()` does. Takes the lock once for both. After an error, `*lease`
  // leases nothing.
  virtual absl::Status AcquireNext(Lease<T>* lease) = 0;

  // Blocks as `AcquireWithTimeout()` does until there is an item. Then
  // acquires all items that there are, up to `max`, and takes the lock once for
  // them. The batch has at least one lease. Errors are those of
  // `GetWithTimeout()`, and `absl::InvalidArgumentError` if `max` is zero.
  virtual absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) = 0;

  // `AcquireUpToWithTimeout()` without a timeout.
  absl::StatusOr<LeaseBatch<T>> AcquireUpTo(size_t max) {
    return AcquireUpToWithTimeout(max, absl::InfiniteDuration());
  }

  // Calls `callback` once, on `executor`, when there is an item: with a lease
  // of the item, or with an error of `AcquireWithTimeout()`. Does not block. No
  // thread waits meanwhile.
  //
  //     queue.AcquireAsync(&executor, [](auto lease) {
  //       if (!lease.ok()) return;  // The queue has been shut down.
  //       StartProcessing(*std::move(lease));
  //     });
  //
  // Callbacks are served in the order of these calls. If threads block in the
  // queue, too, threads and callbacks take turns. The thread that makes an item
  // available submits a task to the executor, without a lock of the queue; the
  // task takes the item and calls `callback`. So a callback may call every
  // function of the queue. If several callbacks are submitted at the same time
  // to an executor with several threads, they may overtake each other.
  //
  // `ShutDown()` and `Close()` end the wait: if nothing is queued, the callback
  // gets `absl::CancelledError`. If taking an item throws, the callback gets an
  // `absl::InternalError`, and the item stays queued.
  //
  // A callback is owned by the queue, and is destroyed after its call. The
  // destructor of the queue blocks until all callbacks have been called; these
  // calls must not use the queue. So a callback must not destroy the queue.
  // `executor` is not owned and must outlive the queue. Neither `executor` nor
  // `callback` may be null.
  //
  // A queue of this library takes constant time and no more than 128 bytes for
  // each callback that waits, and allocates nothing in the steady state if the
  // callback fits into an `absl::AnyInvocable`.
  virtual AcquireId AcquireAsync(Executor* executor,
                                 AcquireCallback<T> callback) = 0;

  // Ends `*lease`, if it leases an item, and does what `AcquireAsync()` does.
  // Takes the lock once for both.
  virtual AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                                     AcquireCallback<T> callback) = 0;

  // Cancels the callback that `id` names, and destroys it. Returns true if it
  // had not been called and never will be. It has then taken no item. Returns
  // false if it has been called, is about to be, or has been cancelled before.
  virtual bool CancelAcquire(AcquireId id) = 0;

  // Returns the number of items that wait for a get. The number may be out of
  // date when the caller looks at it: use it to inform, not to decide.
  virtual size_t Len() const = 0;

  // Returns the numbers of items in the queue, and copies of at most `max`
  // items of each kind: the queued items that are handed out next, the items
  // whose processing began first, and the waiting items that are due first. If
  // `max` is zero, returns only the numbers.
  //
  // A queue in memory takes O(max log max), and other calls wait for that long,
  // however many items there are. There are two exceptions, which look at
  // all items but copy no more than `max`: an `Ordering` without `ForEach()`,
  // and a timing wheel. If there are no more than `max` items of a kind, other
  // calls wait only while they are copied, and not while they are sorted.
  virtual Snapshot<T> TakeSnapshotUpTo(size_t max) = 0;

  // Returns copies of all items in the queue, in O(n log n) for n items.
  Snapshot<T> TakeSnapshot() {
    return TakeSnapshotUpTo(std::numeric_limits<size_t>::max());
  }

  // Returns the numbers of items in the queue, and copies of `item` only: each
  // list has one element if `item` is in this state, and otherwise none. (A
  // waiting item may be queued or being processed, too.) A queue of this
  // library takes constant time on average.
  virtual Snapshot<T> TakeSnapshotOf(const T& item) = 0;

  // Shuts the queue down, for all its clients: it takes no more items. Gets
  // still hand out what is queued, and then find nothing. Ends the drains that
  // other threads wait for. Does not block. May be called from any thread and
  // more than once.
  virtual void ShutDown() = 0;

  // Shuts the queue down, and blocks until all that is queued has been
  // processed. Workers must go on getting items meanwhile. Returns true if all
  // has been processed, false if a `ShutDown()` from another thread ended the
  // wait.
  bool ShutDownWithDrain() {
    return ShutDownWithDrainWithin(absl::InfiniteDuration());
  }

  // Does what `ShutDownWithDrain()` does, but blocks no longer than `timeout`.
  // Returns false if something was left to process. The queue is shut down in
  // any case.
  virtual bool ShutDownWithDrainWithin(absl::Duration timeout) = 0;

  // Ends this client's use of the queue, without ending it for other clients.
  // Adds through this object are refused from now on, and `ShuttingDown()` is
  // true. Does not block. May be called from any thread and more than once.
  //
  //   * A queue in the memory of this process has no other clients. It takes no
  //     more items and still hands out what is queued, as after `ShutDown()`,
  //     but no drain ends.
  //   * A queue whose items live elsewhere keeps them there for other clients.
  //     Its gets return `absl::CancelledError` at once.
  virtual void Close() = 0;

  // Returns whether the queue has been shut down or closed.
  virtual bool ShuttingDown() const = 0;

  // Returns the clock on which this object measures timeouts and delays. Never
  // null. The creator of the queue owns the clock.
  virtual Clock* clock() const = 0;
};

// DelayingInterface
//
// An `Interface` that can add an item later, so that an item whose processing
// failed is tried again without a hot loop.
template <typename T>
class DelayingInterface : public Interface<T> {
 public:
  // Adds `item` once `delay` has passed, or at once if `delay` is zero or
  // negative. If `item` already waits, the earlier time counts.
  //
  // Returns false if the queue did not take it, as `Add()` does. A shutdown
  // drops the items that still wait.
  virtual bool AddAfter(const T& item, absl::Duration delay) = 0;

  // Stops the waiting of `item`: it will not be added when its time comes.
  // Returns whether it was waiting. Does not affect an item that is queued or
  // being processed.
  virtual bool CancelDelayed(const T& item) = 0;

  // Adds `item` once `delay` has passed and not before, even if it waits for an
  // earlier time. So this moves the time of a waiting item, later or sooner,
  // and otherwise does what `AddAfter()` does. If each of a series of events
  // calls it, the item is added when no event has come for `delay` (a
  // debounce).
  //
  // Returns false if the queue did not take it, as `Add()` does.
  virtual bool Reschedule(const T& item, absl::Duration delay) = 0;
};

template <typename T>
class PriorityInterface;

// RateLimitingInterface
//
// A `DelayingInterface` whose rate limiter chooses the delay.
template <typename T>
class RateLimitingInterface : public DelayingInterface<T> {
 public:
  // Adds `item` once the rate limiter permits it. Call this each time the
  // processing of `item` failed. Returns what `AddAfter()` returns.
  virtual bool AddRateLimited(const T& item) = 0;

  // Does what `AddRateLimited()` does for an error that chose the delay (see
  // `RetryAfterOf()`): the rate limiter counts a failure, but `item` is added
  // once `delay` has passed, or at once if `delay` is zero or negative. The
  // rate limiter's maximum, `RateLimiter::MaxDelay()`, shortens `delay`.
  //
  // The default, for implementations outside this library, ignores `delay`.
  virtual bool AddRateLimitedAfter(const T& item, absl::Duration /*delay*/) {
    return AddRateLimited(item);
  }

  // Makes the rate limiter forget the failures of `item`: it succeeded, or will
  // not be tried again. `Done()` is still needed.
  virtual void Forget(const T& item) = 0;

  // Returns how often `AddRateLimited()` or `AddRateLimitedAfter()` has added
  // `item` since it was last forgotten.
  virtual int NumRequeues(const T& item) const = 0;

  // Returns this queue as one with priorities; null if it has none.
  virtual PriorityInterface<T>* AsPriorityQueue() { return nullptr; }
};

// AddOptions
//
// How a queue with priorities adds items.
struct AddOptions {
  // The items are added once this has passed; at once if zero or negative.
  absl::Duration after = absl::ZeroDuration();

  // Whether the rate limiter chooses a delay, too. The shorter of its delay and
  // `after` counts; its delay alone counts if `after` is zero.
  bool rate_limited = false;

  // An item of a higher priority is handed out first. A controller keeps the
  // priority of an item when it tries the item again (see
  // `ReconcileResult::priority`).
  int priority = 0;

  // Whether the items are added because their processing failed. A
  // `rate_limited` addition is a retry in any case. An `Ordering` can tell
  // retries from other additions, and so can a controller's metrics. An item
  // that is also added for another reason is no retry.
  bool retry = false;

  // If given, the delay of a `rate_limited` addition, as an error chose it: the
  // rate limiter counts a failure, but this delay counts in the place of its
  // own, up to its maximum (`RateLimiter::MaxDelay()`). A negative delay counts
  // as zero. Ignored unless `rate_limited` is set.
  std::optional<absl::Duration> retry_after = std::nullopt;
};

// ItemWithPriority
//
// An item, and the priority at which it was handed out.
template <typename T>
struct ItemWithPriority {
  T item;
  int priority;
};

// PriorityInterface
//
// A `RateLimitingInterface` with priorities. Functions that take no priority
// add at priority zero.
template <typename T>
class PriorityInterface : public RateLimitingInterface<T> {
 public:
  // Adds each of `items` in order, as `options` say, and takes the lock once.
  // Returns false if the queue did not take all of them, as `Add()` does.
  //
  //     queue->AddWithOptions(options, {"default/web", "default/db"});
  virtual bool AddWithOptions(const AddOptions& options,
                              absl::Span<const T> items) = 0;

  // Does what `Get()` does, and also tells the priority. (So does a lease.)
  virtual std::optional<ItemWithPriority<T>> GetWithPriority() = 0;

  bool AddRateLimitedAfter(const T& item, absl::Duration delay) override {
    AddOptions options;
    options.rate_limited = true;
    options.retry_after = delay;
    return AddWithOptions(options,
                          absl::MakeConstSpan(std::addressof(item), 1));
  }

  PriorityInterface<T>* AsPriorityQueue() override { return this; }
};

}  // namespace workqueue

#endif  // WORKQUEUE_INTERFACES_H_
