// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/interfaces.h
// -----------------------------------------------------------------------------
//
// What each of the three layers of queues offers. Code that uses a queue
// (a controller's workers, its event handlers) takes one of these, so that it
// works on any implementation. `Queue`, `DelayingQueue` and `RateLimitingQueue`
// are those of this library, and `PriorityQueue` offers all three.
//
// The promises of a work queue, which every implementation keeps:
//
//   * Fair: items are processed in the order in which they are added, unless
//     the implementation is made to order them otherwise.
//   * Stingy: an item is never processed by two workers at the same time, and
//     one that is added several times before it is processed is processed once.
//   * Many producers and many consumers. In particular, an item may be added
//     while it is being processed; it is then processed again.
//   * Shutdown notifications.
//
// These are the promises, and the names, of k8s.io/client-go/util/workqueue.

#ifndef WORKQUEUE_INTERFACES_H_
#define WORKQUEUE_INTERFACES_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/fatal.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/ordering.h"
#include "workqueue/snapshot.h"

namespace workqueue {

namespace internal {

template <typename T>
class CopiedItem;

// Leases of a queue, none of which may outlive it. Thread-safe.
class LeaseCount {
 public:
  ~LeaseCount() {
    if (count_ == 0) return;
    internal::Fatal(absl::StrCat(
        "a queue is destroyed before its leases; left: ", count_.load()));
  }

  void Begun() { ++count_; }
  void Ended() { --count_; }

 private:
  std::atomic<size_t> count_{0};
};

}  // namespace internal

// Interface
//
// A queue of items to be processed, each of them once at a time.
//
// Example, the loop of a worker:
//
//     while (std::optional<std::string> key = queue->Get()) {
//       Reconcile(*key);
//       queue->Done(*key);
//     }
//
// Add, Get, Done and ShutDown are all that a controller needs. What is below
// them is for those who want a lease instead of a `Done()`, a bound on how long
// they block, several items at a time, or to know what is in the queue.
//
// `T` is copyable. Two items that are equal are the same item.
//
// An implementation must provide what is pure; the rest is built on that, and
// is to be overridden where it can be done better.
//
// Thread-safe. Destroying one of the queues of this library shuts it down and
// waits for the calls that block in it, which return as after `ShutDown()`,
// with nothing. No other call may be in progress then, nor come later; one
// whose effect a blocked call has seen counts as over. A lease that is left
// then ends the program, with a message that names the queue and an item.
template <typename T>
class Interface {
 public:
  virtual ~Interface() = default;

  // Marks `item` as in need of processing. Does not block on other items' work.
  //
  // Returns true if it will be processed, be it because of this call or of an
  // earlier one. Returns false if it was not taken: the queue is shutting down
  // or, in an implementation that keeps its items elsewhere, could not reach
  // them; `ShuttingDown()` tells which.
  virtual bool Add(const T& item) = 0;

  // Blocks until there is an item to process, and returns it; `std::nullopt`
  // when the queue has been shut down and is empty: the worker should end.
  //
  // The item counts as being processed until `Done()` is called with it, which
  // must happen exactly once.
  virtual std::optional<T> Get();

  // Says that the processing of `item`, which came from a get, has ended. If it
  // was added meanwhile, it is queued again.
  //
  // Returns false, and does nothing, if there is nothing to end: no get
  // returned `item`, `Done()` has been called already, it is leased (only its
  // lease ends that), or an implementation that hands items out for a limited
  // time has taken it back.
  virtual bool Done(const T& item) = 0;

  // Returns how many items wait for a get. By the time that the caller looks at
  // the result it may have changed; use it to inform, not to decide.
  virtual size_t Len() const = 0;

  // From now on no add takes anything. What is queued is still handed out, and
  // then gets find nothing. Does not wait for that. May be called from any
  // thread and more than once.
  virtual void ShutDown() = 0;

  // `ShutDown()`, and then blocks until everything queued has been processed:
  // workers must go on getting items. Returns true when that is so, false if a
  // `ShutDown()` from another thread ended the wait before.
  bool ShutDownWithDrain() {
    return ShutDownWithDrainUntil(absl::InfiniteFuture());
  }

  // As `ShutDownWithDrain()`, but blocks no longer than until `deadline`, and
  // returns false if there was something left to process then. The queue is
  // shut down in any case.
  //
  // Times are those of the queue's clock, here and below. A deadline that has
  // passed already means not to block.
  virtual bool ShutDownWithDrainUntil(absl::Time deadline) = 0;

  // Returns whether the queue is shutting down, or has shut down.
  virtual bool ShuttingDown() const = 0;

  // Adds each of `items`, in their order, as one `Add()` each would, but with
  // one lock for all. Returns false if any was not taken. If something throws,
  // the first ones may have been added.
  virtual bool AddAll(absl::Span<const T> items);

  // As `Get()`, but blocks no longer than until `deadline`. Returns
  // `absl::DeadlineExceededError` if there was nothing until then, and
  // `absl::CancelledError` if the queue has been shut down and is empty.
  virtual absl::StatusOr<T> GetWithDeadline(absl::Time deadline) = 0;

  // As `GetWithDeadline()`, without blocking.
  absl::StatusOr<T> TryGet() { return GetWithDeadline(absl::InfinitePast()); }

  // As `Get()`, but hands the item out as a lease, which calls for no `Done()`
  // and copies nothing; a lease of nothing when the queue has been shut down
  // and is empty.
  Lease<T> Acquire() {
    absl::StatusOr<Lease<T>> lease =
        AcquireWithDeadline(absl::InfiniteFuture());
    return lease.ok() ? *std::move(lease) : Lease<T>();
  }

  // Ends `*lease`, if it leases anything, and acquires the next item into it as
  // `Acquire()` does: what a worker does all day, with one lock for both.
  // Returns false when the queue has been shut down and is empty.
  virtual bool AcquireNext(Lease<T>* lease) {
    lease->Done();
    *lease = Acquire();
    return static_cast<bool>(*lease);
  }

  // As `Acquire()`, but blocks no longer than until `deadline`; errors as
  // `GetWithDeadline()`.
  virtual absl::StatusOr<Lease<T>> AcquireWithDeadline(absl::Time deadline);

  // As `AcquireWithDeadline()`, without blocking.
  absl::StatusOr<Lease<T>> TryAcquire() {
    return AcquireWithDeadline(absl::InfinitePast());
  }

  // Blocks as `AcquireWithDeadline()` does until there is an item, and then
  // acquires as many as there are, but no more than `max`, with one lock for
  // all, and one for their end. On success there is at least one. Errors as
  // `GetWithDeadline()`, and `absl::InvalidArgumentError` if `max` is zero.
  virtual absl::StatusOr<LeaseBatch<T>> AcquireUpToWithDeadline(
      size_t max, absl::Time deadline);

  // As `AcquireUpToWithDeadline()`, with no deadline.
  absl::StatusOr<LeaseBatch<T>> AcquireUpTo(size_t max) {
    return AcquireUpToWithDeadline(max, absl::InfiniteFuture());
  }

  // Returns copies of all that is in the queue now, in O(n log n) for n items.
  // Other calls wait for no more than the copying.
  virtual Snapshot<T> TakeSnapshot() = 0;

 private:
  friend class internal::CopiedItem<T>;

  // Those of `AcquireWithDeadline()` as it is here.
  internal::LeaseCount leases_;
};

// DelayingInterface
//
// An `Interface` that can add an item later, so that one whose processing
// failed can be tried again without a hot loop.
template <typename T>
class DelayingInterface : public Interface<T> {
 public:
  // Adds `item` once `delay` has passed; at once if `delay` is zero or
  // negative. For an item that already waits, the earlier time counts.
  //
  // Returns false if it was not taken, as `Add()`. What still waits when the
  // queue is shut down is dropped.
  virtual bool AddAfter(const T& item, absl::Duration delay) = 0;

  // Has `item` wait no longer: it will not be added when its time comes.
  // Returns whether it was waiting. An item that is queued or being processed
  // stays so.
  virtual bool CancelDelayed(const T& item) = 0;

  // Adds `item` once `delay` has passed, and not before, even if it waits for
  // an earlier time: moves the time of a waiting item, later or sooner, and
  // otherwise does what `AddAfter()` does. Called at each of a series of
  // events, it adds the item when there has been none for `delay` (a debounce).
  //
  // Returns false if it was not taken, as `Add()`.
  virtual bool Reschedule(const T& item, absl::Duration delay) = 0;
};

template <typename T>
class PriorityInterface;

// RateLimitingInterface
//
// A `DelayingInterface` that has a rate limiter choose the delay.
template <typename T>
class RateLimitingInterface : public DelayingInterface<T> {
 public:
  // Adds `item` once the rate limiter says that it may be. To be called each
  // time that processing `item` failed. Returns false as `AddAfter()`.
  virtual bool AddRateLimited(const T& item) = 0;

  // Has the rate limiter forget the failures of `item`: it succeeded, or will
  // not be tried again. This does not stand in for `Done()`.
  virtual void Forget(const T& item) = 0;

  // Returns how often `item` has been added by `AddRateLimited()` since it was
  // last forgotten.
  virtual int NumRequeues(const T& item) const = 0;

  // Returns this queue as one that has priorities; null if it has none.
  virtual PriorityInterface<T>* AsPriorityQueue() { return nullptr; }
};

// Implementation details follow.

namespace internal {

inline absl::Status ZeroMaxError() {
  return absl::InvalidArgumentError("max is 0; it must be at least 1");
}

// Queues `item` again, which a get on `queue` returned, and which has got lost
// on the way to the caller because a copy threw. If this throws too, there is
// nobody to tell; the item then goes on being processed rather than be lost.
template <typename T>
void GiveBack(Interface<T>* queue, const T& item) {
  internal::TryCall([queue, &item] {
    queue->Add(item);
    queue->Done(item);
  });
}

// A lease of an item that was got by value.
template <typename T>
class CopiedItem final : public QueuedItem<T>, private LeaseOwner<T> {
 public:
  static Lease<T> Acquire(Interface<T>* queue, const T& item) {
    auto* const copy = new CopiedItem(queue, item);
    return Lease<T>(copy, copy);
  }

 private:
  CopiedItem(Interface<T>* queue, const T& item)
      : QueuedItem<T>(item), queue_(queue) {
    queue_->leases_.Begun();
  }

  void EndLeases(absl::Span<QueuedItem<T>* const>) override {
    const std::unique_ptr<CopiedItem> self(this);
    internal::TryCall([this] { queue_->Done(this->item()); });
    queue_->leases_.Ended();
  }

  Interface<T>* const queue_;
};

}  // namespace internal

template <typename T>
std::optional<T> Interface<T>::Get() {
  std::optional<T> result;  // the only object returned: no copy after the last
  absl::StatusOr<T> item = GetWithDeadline(absl::InfiniteFuture());
  if (!item.ok()) return result;
  absl::Cleanup give_back = [this, &item] { internal::GiveBack(this, *item); };
  result.emplace(std::move_if_noexcept(*item));
  std::move(give_back).Cancel();
  return result;
}

template <typename T>
bool Interface<T>::AddAll(absl::Span<const T> items) {
  bool taken = true;
  for (const T& item : items) taken &= Add(item);
  return taken;
}

template <typename T>
absl::StatusOr<Lease<T>> Interface<T>::AcquireWithDeadline(
    absl::Time deadline) {
  const absl::StatusOr<T> item = GetWithDeadline(deadline);
  if (!item.ok()) return item.status();
  absl::Cleanup give_back = [this, &item] { internal::GiveBack(this, *item); };
  Lease<T> lease = internal::CopiedItem<T>::Acquire(this, *item);
  std::move(give_back).Cancel();
  return lease;
}

template <typename T>
absl::StatusOr<LeaseBatch<T>> Interface<T>::AcquireUpToWithDeadline(
    size_t max, absl::Time deadline) {
  if (max == 0) return internal::ZeroMaxError();
  LeaseBatch<T> leases;
  leases.push_back(Lease<T>());  // rather than when there is one to be lost
  absl::StatusOr<Lease<T>> first = AcquireWithDeadline(deadline);
  if (!first.ok()) return first.status();
  leases.back() = *std::move(first);
  // What has been acquired is returned, even if there is no more to be had.
  internal::TryCall([this, max, &leases] {
    while (leases.size() < max) {
      leases.push_back(Lease<T>());
      absl::StatusOr<Lease<T>> next = TryAcquire();
      if (!next.ok()) break;
      leases.back() = *std::move(next);
    }
  });
  if (!leases.back()) leases.pop_back();
  return leases;
}

}  // namespace workqueue

#endif  // WORKQUEUE_INTERFACES_H_
