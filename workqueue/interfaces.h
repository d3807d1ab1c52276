// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The interfaces of work queues, one for each layer. Code that uses a queue (a
// controller's workers, its event handlers) takes one of these and so works
// with any implementation. `Queue`, `DelayingQueue`, `RateLimitingQueue` and
// `PriorityQueue` are the implementations of this library.
//
// An implementation provides the pure virtual functions, twelve at most in a
// queue without delays. `workqueue/queue_base.h` has the parts that it can
// start from, and `workqueue/testing/queue_test_suite.h` the tests that it must
// pass.
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

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/handle.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"

namespace workqueue {

class Clock;

// AcquireCallback
//
// A function that receives a lease of an item, or the error that
// `Interface::AcquireInto()` would return.
template <typename T>
using AcquireCallback =
    absl::AnyInvocable<void(absl::StatusOr<Lease<T>> lease) &&>;

namespace internal {
struct AcquireTag;

// Aborts the program if a get without a timeout would return `error` for ever.
void DieIfGetNeverEnds(const absl::Status& error);

// For implementations of `Interface::AcquireNextAsync()`: aborts the program if
// `executor` is null, or there is no callback.
void DieIfNoCallback(const Executor* executor, bool has_callback);
}  // namespace internal

// AcquireId
//
// Names a callback that waits for an item, for `Interface::CancelAcquire()`. An
// id can be kept for any time: once its callback has run, it names nothing, and
// never another callback. Copyable, comparable and hashable; a
// default-constructed id names nothing.
using AcquireId = internal::Handle<internal::AcquireTag>;

// AddOptions
//
// How `Interface::AddItems()` adds items. By default, at once.
struct AddOptions {
  // If given, the items are added once this has passed; at once if it is zero
  // or negative. If an item already waits, the earlier time counts.
  std::optional<absl::Duration> after = std::nullopt;

  // Whether the rate limiter chooses a delay. The shorter of its delay and
  // `after` counts; its delay alone counts if `after` is zero or not given. So
  // a negative `after` adds at once, as in controller-runtime.
  bool rate_limited = false;

  // An item of a higher priority is handed out first. A controller keeps the
  // priority of an item when it tries the item again (see
  // `ReconcileResult::priority`). A queue without priorities ignores it.
  int priority = 0;

  // Whether the items are added because their processing failed. A
  // `rate_limited` addition is a retry in any case. An `Ordering` can tell
  // retries from other additions, and so can a controller's metrics. An item
  // that is also added for another reason is no retry. A queue without
  // priorities ignores it, and so does a `SharedQueue` but for its groups.
  bool retry = false;

  // If given, the delay of a `rate_limited` addition, as an error chose it: the
  // rate limiter counts a failure, but this delay counts in the place of its
  // own, up to its maximum (`RateLimiter::MaxDelay()`). A negative delay counts
  // as zero. Ignored unless `rate_limited` is set.
  std::optional<absl::Duration> retry_after = std::nullopt;

  // Whether an item that waits already is added at the time of `after`, even if
  // that is later. Its `priority` and `retry` count as those of any addition.
  // (In a `SharedQueue` the priority must be 0, and a retry that waits stays a
  // retry.) Does not combine with `rate_limited`.
  bool reschedule = false;

  // Options with these fields set, and otherwise the defaults.
  static AddOptions After(absl::Duration delay) {
    AddOptions options;
    options.after = delay;
    return options;
  }
  static AddOptions Reschedule(absl::Duration delay) {
    AddOptions options = After(delay);
    options.reschedule = true;
    return options;
  }
  static AddOptions RateLimited(
      std::optional<absl::Duration> retry_after = std::nullopt) {
    AddOptions options;
    options.rate_limited = true;
    options.retry_after = retry_after;
    return options;
  }
};

namespace internal {

// The options of `Add()`. A queue may know them by their address.
inline constexpr AddOptions kAddAtOnce;

// Asks `limiter` for the delay of a rate limited addition.
template <typename Limiter, typename T>
absl::Duration LimitedDelay(Limiter& limiter, const T& item,
                            const AddOptions& options) {
  const absl::Duration after = options.after.value_or(absl::ZeroDuration());
  const absl::Duration most =
      after == absl::ZeroDuration() ? absl::InfiniteDuration() : after;
  // A bucket need not know of a longer wait.
  const absl::Duration up_to = (std::max)(most, absl::ZeroDuration());
  const absl::Duration limited =
      options.retry_after.has_value()
          ? limiter.WhenAfter(item, (std::min)(*options.retry_after, up_to))
          : limiter.WhenUpTo(item, up_to);
  return (std::min)(most, limited);
}

}  // namespace internal

// CheckAddOptions()
//
// For implementations of `Interface::AddItems()`: returns an
// `absl::InvalidArgumentError` that names the field and its value if `options`
// contradict each other, or ask for more than the queue can do.
enum class AddSupport { kAtOnce, kDelayed, kRateLimited };
absl::Status CheckAddOptions(const AddOptions& options, AddSupport support);

// ItemWithPriority
//
// An item, and the priority at which it was handed out.
template <typename T>
struct ItemWithPriority {
  T item;
  int priority;
};

// ItemReceiver
//
// A function that takes an item from `Interface::GetItem()`.
template <typename T>
using ItemReceiver = absl::FunctionRef<void(const T& item, int priority)>;

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
// `T` is copyable. Two equal items are the same item. A queue may hash,
// compare, copy, move and destroy items with its lock held. These functions of
// `T` must not call the queue.
//
// An implementation keeps its items in the memory of this process, or in an
// engine that several processes share, as a `SharedQueue` does. Such an engine
// can fail to be reached, and its queue outlives the clients. So the virtual
// functions return the error, and `Close()`, by which a client leaves, differs
// from `ShutDown()`. The other functions are short forms of the virtual ones:
// client-go's, and those that say what is usual. Where a short form cannot
// return an error, its comment says what it makes of one.
//
// Errors, of all functions:
//
//   * `absl::CancelledError`: the queue has been shut down or closed, and a get
//     has found it empty.
//   * `absl::DeadlineExceededError`: there was no item within the timeout. That
//     of a queue in memory has no message, because a caller that polls would
//     pay for it.
//   * `absl::InvalidArgumentError`: an argument is wrong; names it and its
//     value.
//   * `absl::FailedPreconditionError` of a queue in memory: the call would
//     block the thread of a `WaitingLoop` that the program drives. `Get()`,
//     which cannot return it, aborts the program with a message.
//   * Any other error: an implementation could not reach its engine. Nobody
//     knows what is there. The caller should try again later. A queue in memory
//     returns no such error.
//
// A timeout is measured on the queue's clock. A call whose timeout is zero or
// negative does not block. An infinite timeout never passes.
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

  // ---------------------------------------------------------------------------
  // Adding
  // ---------------------------------------------------------------------------

  // Marks each of `items` as in need of processing, in order, as `options` say.
  // Takes the lock once. Does not wait for the processing of any item.
  //
  // After OK, the items will be processed. After an error, the queue may have
  // taken the first items, or some of them. So it is if something throws.
  // Returns `absl::InvalidArgumentError` if `options` ask for what the queue
  // cannot do: a delay, say, of a queue that is no `DelayingInterface`.
  virtual absl::Status AddItems(const AddOptions& options,
                                absl::Span<const T> items) = 0;

  // Adds `item` at once. Returns whether it will be processed because of this
  // call or an earlier one. If not, `ShuttingDown()` tells whether the queue
  // takes no more items, or could not be reached.
  bool Add(const T& item) {
    return AddItems(internal::kAddAtOnce, One(item)).ok();
  }

  // Adds as `AddItems()` does. Returns whether the queue has taken all.
  //
  //     queue->AddWithOptions(options, {"default/web", "default/db"});
  bool AddWithOptions(const AddOptions& options, absl::Span<const T> items) {
    return AddItems(options, items).ok();
  }

  // Adds each of `items`, as one `Add()` each does.
  bool AddAll(absl::Span<const T> items) {
    return AddItems(internal::kAddAtOnce, items).ok();
  }

  // ---------------------------------------------------------------------------
  // Getting items by value
  // ---------------------------------------------------------------------------

  // Blocks until there is an item to process, and passes it to `receive`, with
  // the priority at which it is handed out: zero without priorities. Blocks no
  // longer than `timeout`.
  //
  // The item is being processed until `EndProcessing()` or `Done()` is called
  // with it, which the caller must do exactly once. If `receive` throws, the
  // item stays in the queue. `receive` may be called with the lock of the queue
  // held, and must not use the queue.
  //
  // An implementation on an engine returns an error of the engine after a pause
  // (half a second, say, or `timeout`), so that a loop of gets asks a server
  // that is gone no faster than that.
  virtual absl::Status GetItem(absl::Duration timeout,
                               ItemReceiver<T> receive) = 0;

  // Blocks until there is an item, and returns it. Returns `std::nullopt` when
  // the queue has been shut down and is empty: the worker should end. Tries
  // again after any other error.
  std::optional<T> Get() {
    // The only object returned: nothing copies it once the item is handed out.
    std::optional<T> result;
    if (!GetNext([&result](const T& item, int) { result.emplace(item); })) {
      result.reset();
    }
    return result;
  }

  // Does what `Get()` does, and also tells the priority. (So does a lease.)
  std::optional<ItemWithPriority<T>> GetWithPriority() {
    std::optional<ItemWithPriority<T>> result;
    if (!GetNext([&result](const T& item, int priority) {
          result.emplace(ItemWithPriority<T>{item, priority});
        })) {
      result.reset();
    }
    return result;
  }

  // Blocks until there is an item, or `timeout` has passed.
  absl::StatusOr<T> GetWithTimeout(absl::Duration timeout) {
    absl::StatusOr<T> result;  // as in Get()
    absl::Status status = GetItem(
        timeout, [&result](const T& item, int) { result.emplace(item); });
    if (!status.ok()) result = std::move(status);
    return result;
  }

  // `GetWithTimeout()`, without blocking.
  absl::StatusOr<T> TryGet() { return GetWithTimeout(absl::ZeroDuration()); }

  // Ends the processing of `item`, which a get has returned. If `item` was
  // added meanwhile, it is queued again.
  //
  // Returns false and does nothing if there is nothing to end: no get returned
  // `item`, its processing has been ended already, `item` is leased (only its
  // lease ends that), or an implementation that hands items out for a limited
  // time has taken `item` back.
  virtual absl::StatusOr<bool> EndProcessing(const T& item) = 0;

  // `EndProcessing()`. Returns false after an error.
  bool Done(const T& item) {
    const absl::StatusOr<bool> ended = EndProcessing(item);
    return ended.ok() && *ended;
  }

  // ---------------------------------------------------------------------------
  // Leases
  // ---------------------------------------------------------------------------

  // Ends `*lease`, if it leases an item. Then blocks as `GetItem()` does until
  // there is an item, and leases it to `*lease`: the end of the lease ends the
  // processing. Takes the lock once for both. After an error, `*lease` leases
  // nothing.
  virtual absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) = 0;

  // `AcquireInto()` without a timeout.
  absl::Status AcquireNext(Lease<T>* lease) {
    return AcquireInto(lease, absl::InfiniteDuration());
  }

  // `AcquireInto()` a new lease; without a timeout; and without blocking.
  absl::StatusOr<Lease<T>> AcquireWithTimeout(absl::Duration timeout) {
    absl::StatusOr<Lease<T>> lease{Lease<T>()};
    absl::Status status = AcquireInto(&*lease, timeout);
    if (!status.ok()) lease = std::move(status);
    return lease;
  }
  absl::StatusOr<Lease<T>> Acquire() {
    return AcquireWithTimeout(absl::InfiniteDuration());
  }
  absl::StatusOr<Lease<T>> TryAcquire() {
    return AcquireWithTimeout(absl::ZeroDuration());
  }

  // Blocks as `AcquireInto()` does until there is an item. Then acquires all
  // items that there are, up to `max`, and takes the lock once for them. The
  // batch has at least one lease. Returns `absl::InvalidArgumentError` if `max`
  // is zero.
  virtual absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) = 0;

  // `AcquireUpToWithTimeout()` without a timeout.
  absl::StatusOr<LeaseBatch<T>> AcquireUpTo(size_t max) {
    return AcquireUpToWithTimeout(max, absl::InfiniteDuration());
  }

  // Calls `callback` once, on `executor`, when there is an item: with a lease
  // of the item, or with an error of `AcquireInto()`. Does not block. No thread
  // waits meanwhile.
  //
  //     queue.AcquireAsync(&executor, [](auto lease) {
  //       if (!lease.ok()) return;  // The queue has been shut down.
  //       StartProcessing(*std::move(lease));
  //     });
  //
  // Callbacks are served in the order of these calls. If threads block in the
  // queue, too, threads and callbacks take turns; but a thread that is faster
  // than the executor gets the item. The thread that makes an item
  // available submits a task to the executor, without a lock of the queue; the
  // task takes the item and calls `callback`. So a callback may call every
  // function of the queue. If several callbacks are submitted at the same time
  // to an executor with several threads, they may overtake each other. A queue
  // in memory submits four at most, and the next one when one of them has run:
  // an executor that runs nothing holds up the callbacks of other executors.
  //
  // `ShutDown()` and `Close()` end the wait: if nothing is queued, the callback
  // gets `absl::CancelledError`. If taking an item throws, the callback gets an
  // `absl::InternalError`, and the item stays queued.
  //
  // A callback is owned by the queue, and is destroyed after its call. The
  // destructor of the queue blocks until all callbacks have been called and
  // these calls have returned. They may end a lease, and must not use the queue
  // otherwise. So a callback must not destroy the queue. The destructor aborts
  // the program if there are callbacks to call, and this is the thread of their
  // `LoopExecutor`, or of a loop of the queue that the program drives: shut the
  // queue down first, and let the loop run.
  // `executor` is not owned and must outlive the queue. Aborts the program if
  // `executor` or `callback` is null.
  //
  // A queue in memory takes constant time and no more than 128 bytes for each
  // callback that waits, and allocates nothing in the steady state if the
  // callback fits into an `absl::AnyInvocable`.
  AcquireId AcquireAsync(Executor* executor, AcquireCallback<T> callback) {
    Lease<T> none;
    return AcquireNextAsync(&none, executor, std::move(callback));
  }

  // Ends `*lease`, if it leases an item, and does what `AcquireAsync()` does.
  // Takes the lock once for both.
  virtual AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                                     AcquireCallback<T> callback) = 0;

  // Cancels the callback that `id` names, and destroys it. Returns true if it
  // had not been called and never will be. It has then taken no item. Returns
  // false if it has been called, is about to be, or has been cancelled before.
  virtual bool CancelAcquire(AcquireId id) = 0;

  // ---------------------------------------------------------------------------
  // Snapshots
  // ---------------------------------------------------------------------------

  // Returns the numbers of items in the queue, and copies of those items that
  // `options` choose.
  //
  // A queue in memory takes O(max log max), and other calls wait for that long,
  // however many items there are. There are two exceptions, which look at
  // all items but copy no more than `max`: an `Ordering` without `ForEach()`,
  // and a timing wheel. If there are no more than `max` items of a kind, other
  // calls wait only while they are copied, and not while they are sorted. A
  // snapshot of one item takes constant time on average.
  virtual absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const = 0;

  // Copies all items; at most `max` of each state; and `item` only.
  absl::StatusOr<Snapshot<T>> TakeSnapshot() const {
    return TakeSnapshotWith(SnapshotOptions<T>());
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotUpTo(size_t max) const {
    SnapshotOptions<T> options;
    options.max = max;
    return TakeSnapshotWith(options);
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotOf(const T& item) const {
    SnapshotOptions<T> options;
    options.only = std::addressof(item);
    return TakeSnapshotWith(options);
  }

  // Returns the number of items that wait for a get; zero after an error, so
  // use `TakeSnapshotUpTo(0)` if that must be told. The number may be out of
  // date when the caller looks at it: use it to inform, not to decide.
  size_t Len() const {
    SnapshotOptions<T> options;
    options.max = 0;
    options.waiting = false;
    const absl::StatusOr<Snapshot<T>> snapshot = TakeSnapshotWith(options);
    return snapshot.ok() ? snapshot->num_queued : 0;
  }

  // ---------------------------------------------------------------------------
  // The end
  // ---------------------------------------------------------------------------

  // Shuts the queue down, for all its clients: it takes no more items. Gets
  // still hand out what is queued, and then find nothing. May be called from
  // any thread and more than once.
  //
  // With a `drain`, blocks until all that is queued has been processed, no
  // longer than that. Workers must go on getting items meanwhile. Without one,
  // does not block, and ends the drains that other threads wait for.
  //
  // Returns true if there was a `drain`, and all has been processed. After an
  // error, it is not known whether the queue has been shut down, or what is
  // left in it.
  virtual absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) = 0;

  // `ShutDownAndDrain()` without a drain.
  void ShutDown() { ShutDownAndDrain(std::nullopt).IgnoreError(); }

  // `ShutDownAndDrain()`, for ever or within `timeout`. Returns false after an
  // error.
  bool ShutDownWithDrain() {
    return ShutDownWithDrainWithin(absl::InfiniteDuration());
  }
  bool ShutDownWithDrainWithin(absl::Duration timeout) {
    const absl::StatusOr<bool> drained = ShutDownAndDrain(timeout);
    return drained.ok() && *drained;
  }

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

  // Returns whether the queue has been shut down or closed, as far as this
  // object knows. Does not block.
  virtual bool ShuttingDown() const = 0;

  // Returns OK if the queue does its work, as far as this object knows. A queue
  // whose items live elsewhere otherwise returns the error of its last request,
  // with the time since when there was no answer, on the machine's clock, also
  // if that request still waits for one (a `SharedQueue`: after two seconds, or
  // half of `call_timeout` if that is less), or says which settings there may
  // lose items, if its options do not allow that. Does not block. A queue in
  // memory does its work.
  virtual absl::Status Healthy() const { return absl::OkStatus(); }

  // Returns the clock on which this object measures timeouts and delays. Never
  // null. The creator of the queue owns the clock.
  virtual Clock* clock() const = 0;

 protected:
  static absl::Span<const T> One(const T& item) {
    return absl::MakeConstSpan(std::addressof(item), 1);
  }

 private:
  // Blocks until an item has been handed out. Returns false if the queue is
  // shut down and empty.
  bool GetNext(ItemReceiver<T> receive) {
    while (true) {
      const absl::Status status = GetItem(absl::InfiniteDuration(), receive);
      if (ABSL_PREDICT_TRUE(status.ok())) return true;
      if (absl::IsCancelled(status)) return false;
      internal::DieIfGetNeverEnds(status);
    }
  }
};

// DelayingInterface
//
// An `Interface` that can add an item later, so that an item whose processing
// failed is tried again without a hot loop.
template <typename T>
class DelayingInterface : public Interface<T> {
 public:
  // Adds `item` once `delay` has passed, or at once if `delay` is zero or
  // negative. If `item` already waits, the earlier time counts. Returns what
  // `Add()` returns. A shutdown drops the items that still wait.
  bool AddAfter(const T& item, absl::Duration delay) {
    return this->AddItems(AddOptions::After(delay), this->One(item)).ok();
  }

  // Adds `item` once `delay` has passed and not before, even if it waits for an
  // earlier time. So this moves the time of a waiting item, later or sooner,
  // and otherwise does what `AddAfter()` does. If each of a series of events
  // calls it, the item is added when no event has come for `delay` (a
  // debounce).
  bool Reschedule(const T& item, absl::Duration delay) {
    return this->AddItems(AddOptions::Reschedule(delay), this->One(item)).ok();
  }

  // Stops the waiting of `item`: it will not be added when its time comes.
  // Returns whether it was waiting. Does not affect an item that is queued or
  // being processed.
  virtual absl::StatusOr<bool> CancelWait(const T& item) = 0;

  // `CancelWait()`. Returns false after an error.
  bool CancelDelayed(const T& item) {
    const absl::StatusOr<bool> cancelled = CancelWait(item);
    return cancelled.ok() && *cancelled;
  }
};

template <typename T>
class PriorityInterface;
template <typename T>
class SharedFailures;

// RateLimitingInterface
//
// A `DelayingInterface` whose rate limiter chooses the delay.
template <typename T>
class RateLimitingInterface : public DelayingInterface<T> {
 public:
  // Adds `item` once the rate limiter permits it. Call this each time the
  // processing of `item` failed. Returns what `Add()` returns.
  bool AddRateLimited(const T& item) {
    return this->AddItems(AddOptions::RateLimited(), this->One(item)).ok();
  }

  // Does what `AddRateLimited()` does for an error that chose the delay (see
  // `RetryAfterOf()` and `AddOptions::retry_after`).
  bool AddRateLimitedAfter(const T& item, absl::Duration delay) {
    return this->AddItems(AddOptions::RateLimited(delay), this->One(item)).ok();
  }

  // Makes the rate limiter forget the failures of `item`: it succeeded, or will
  // not be tried again. The processing must still be ended.
  virtual absl::Status ForgetFailures(const T& item) = 0;

  // Returns how often a rate limited addition of `item` has been counted since
  // it was last forgotten. As in client-go, a `RateLimitingQueue` also counts
  // those that it refuses because it has been shut down.
  virtual absl::StatusOr<int> CountFailures(const T& item) const = 0;

  // `ForgetFailures()`.
  void Forget(const T& item) { ForgetFailures(item).IgnoreError(); }

  // `CountFailures()`. Returns zero after an error.
  int NumRequeues(const T& item) const {
    const absl::StatusOr<int> failures = CountFailures(item);
    return failures.ok() ? *failures : 0;
  }

  // Returns this queue as one with priorities; null if it has none.
  virtual PriorityInterface<T>* AsPriorityQueue() { return nullptr; }

  // Returns the failures of the items, with the errors, if the queue's engine
  // keeps them for all processes (workqueue/failures.h). Null otherwise: each
  // process that wants to know them keeps them in a `FailureLedger`.
  virtual SharedFailures<T>* AsSharedFailures() { return nullptr; }
};

// PriorityInterface
//
// A `RateLimitingInterface` that hands out items in the order of
// `AddOptions::priority`.
template <typename T>
class PriorityInterface : public RateLimitingInterface<T> {
 public:
  PriorityInterface<T>* AsPriorityQueue() override { return this; }
};

}  // namespace workqueue

#endif  // WORKQUEUE_INTERFACES_H_
