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
// are the ones in this library.
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

#ifndef WORKQUEUE_WORKQUEUE_INTERFACES_H_
#define WORKQUEUE_WORKQUEUE_INTERFACES_H_

#include <cstddef>
#include <optional>

#include "absl/time/time.h"

namespace workqueue {

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
// `T` is copyable. Two items that are equal are the same item.
//
// Thread-safe. A queue must not be destroyed while a call on it is in progress.
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
  virtual std::optional<T> Get() = 0;

  // Says that the processing of `item`, which came from `Get()`, has ended. If
  // it was added meanwhile, it is queued again.
  //
  // Returns false, and does nothing, if `item` is not being processed: `Get()`
  // did not return it, `Done()` has been called already, or an implementation
  // that hands items out for a limited time has taken it back.
  virtual bool Done(const T& item) = 0;

  // Returns how many items wait for a `Get()`. By the time that the caller
  // looks at the result it may have changed; use it to inform, not to decide.
  virtual size_t Len() const = 0;

  // From now on `Add()` takes nothing. What is queued is still handed out, and
  // then `Get()` returns `std::nullopt`. Does not wait for that. May be called
  // from any thread and more than once.
  virtual void ShutDown() = 0;

  // `ShutDown()`, and then blocks until everything queued has been processed:
  // workers must go on calling `Get()` and `Done()`. Returns true when that is
  // so, false if a `ShutDown()` from another thread ended the wait before.
  virtual bool ShutDownWithDrain() = 0;

  // Returns whether the queue is shutting down, or has shut down.
  virtual bool ShuttingDown() const = 0;
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
};

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
};

}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERFACES_H_
