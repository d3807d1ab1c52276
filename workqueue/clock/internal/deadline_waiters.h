// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_
#define WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// DeadlineWaiters
//
// This class implements a clock's `AwaitWithDeadline()` and holds the threads
// in it. Each thread waits in `Mutex::Await()` on its caller's own mutex,
// without a timeout, until the caller's condition is true or the clock declares
// the thread's deadline past. The clock declares deadlines past with
// `Expire()`. So the clock's time decides, and not the time of Abseil's own
// timeouts.
//
// Thread-safe. Lock order: a caller's mutex comes before this object's mutex.
// `Expire()` locks callers' mutexes, so its caller must hold none of them.
class DeadlineWaiters {
 public:
  // `now` is the clock's current time. Each `Await()` that blocks calls `begun`
  // once `Expire()` can end it. It calls `ended` once it no longer waits, and
  // before `AwaitExpired()` can return. Both run on the waiting thread while
  // that thread holds its caller's mutex.
  DeadlineWaiters(
      absl::Time now, std::function<void()> begun,
      std::function<void()> ended = [] {})
      : begun_(std::move(begun)), ended_(std::move(ended)), now_(now) {}

  DeadlineWaiters(const DeadlineWaiters&) = delete;
  DeadlineWaiters& operator=(const DeadlineWaiters&) = delete;

  // Does what `Clock::AwaitWithDeadline()` promises. A deadline has passed if
  // it is not later than the time of the latest `Expire()`.
  bool Await(sync::Mutex* mu, const absl::Condition& cond, absl::Time deadline);

  // Declares all deadlines up to and including `now` past. Wakes the threads
  // that wait for them.
  void Expire(absl::Time now);

  // Blocks until all threads woken by `Expire()` have returned from `Await()`.
  void AwaitExpired();

  // Returns the earliest deadline of a waiting thread, or
  // `absl::InfiniteFuture()` if no thread waits.
  absl::Time Earliest() const;

  // Returns the number of waiting threads. A thread whose deadline has passed
  // does not count.
  size_t Count() const;

 private:
  struct Waiter;
  using WaiterMap = std::multimap<absl::Time, Waiter*>;

  const std::function<void()> begun_;
  const std::function<void()> ended_;

  mutable sync::Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  WaiterMap waiters_ ABSL_GUARDED_BY(mu_);
  // The number of threads woken by Expire() that have not yet left Await().
  size_t leaving_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_
