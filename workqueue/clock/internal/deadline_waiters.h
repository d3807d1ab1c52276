// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/deadline_waiters.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_
#define WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// DeadlineWaiters
//
// The threads that are in a clock's `AwaitWithDeadline()`. Each waits in
// `Mutex::Await()` on the caller's own mutex, without a timeout, for the
// caller's condition or for its deadline to be declared past; the clock
// declares that with `Expire()`. So the time that counts is the clock's, not
// the one that Abseil would wait on.
//
// Lock order: a caller's mutex comes before the one in here. `Expire()` locks
// callers' mutexes and must be called with none held.
class DeadlineWaiters {
 public:
  // Each call of `Await()` that waits calls `begun` when it can be expired, and
  // `ended` when it waits no longer, but before `AwaitExpired()` can return.
  // Both run on its thread, with the thread's own mutex held.
  DeadlineWaiters(
      absl::Time now, std::function<void()> begun,
      std::function<void()> ended = [] {})
      : begun_(std::move(begun)), ended_(std::move(ended)), now_(now) {}

  DeadlineWaiters(const DeadlineWaiters&) = delete;
  DeadlineWaiters& operator=(const DeadlineWaiters&) = delete;

  // As `Clock::AwaitWithDeadline()`. A deadline that is not after the latest
  // `Expire()` is past.
  bool Await(absl::Mutex* mu, const absl::Condition& cond, absl::Time deadline);

  // Declares every deadline up to `now` past, and those waiting for one wake.
  void Expire(absl::Time now);

  // Blocks until all that `Expire()` woke have returned from `Await()`.
  void AwaitExpired();

  // The earliest deadline that anyone waits for; infinite if none does.
  absl::Time Earliest() const;

  // How many threads wait. One whose deadline has passed no longer does.
  size_t Count() const;

 private:
  struct Waiter;
  using WaiterMap = std::multimap<absl::Time, Waiter*>;

  const std::function<void()> begun_;
  const std::function<void()> ended_;

  mutable absl::Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  WaiterMap waiters_ ABSL_GUARDED_BY(mu_);
  // Woken by Expire(), and not yet out of Await().
  size_t leaving_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_DEADLINE_WAITERS_H_
