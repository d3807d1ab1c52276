// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_INTERNAL_DELAY_QUEUE_BASE_H_
#define WORKQUEUE_TIMER_INTERNAL_DELAY_QUEUE_BASE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/internal/leader_followers.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::internal {

// DelayQueueBase
//
// The part of a `DelayQueue<T>` that does not depend on `T`: the times at which
// values are due, the threads that wait for them, and the shutdown. Values are
// named by ids; the derived class owns the values.
//
// Thread-safe, except for the functions that require the lock `mu_`.
class DelayQueueBase {
 public:
  DelayQueueBase(const DelayQueueBase&) = delete;
  DelayQueueBase& operator=(const DelayQueueBase&) = delete;

  // See `DelayQueue`.
  size_t Len() const ABSL_LOCKS_EXCLUDED(mu_);
  bool ShuttingDown() const { return shutting_down_.load(); }

 protected:
  // Holds the lock of a queue, and waits for a value that is due. The
  // destructor wakes another waiting thread, if that must wait for the next
  // value.
  class ABSL_SCOPED_LOCKABLE DueLock {
   public:
    explicit DueLock(DelayQueueBase* queue)
        ABSL_EXCLUSIVE_LOCK_FUNCTION(queue->mu_) ABSL_NO_THREAD_SAFETY_ANALYSIS
        : queue_(queue) {
      lock_.emplace(&queue->mu_);
    }
    ~DueLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (ABSL_PREDICT_FALSE(parker_ != nullptr)) GiveBackParker();
      queue_->waiters_.PassOnLead(queue_->waiting_.size() > 0);
    }

    DueLock(const DueLock&) = delete;
    DueLock& operator=(const DueLock&) = delete;

    // Blocks, without the lock, until a value is due, until `timeout` has
    // passed, or until the queue is shut down. Returns OK if a value is due,
    // `absl::DeadlineExceededError` or `absl::CancelledError`, and
    // `WouldBlockLoopError()` if that is so.
    absl::Status AwaitDue(absl::Duration timeout)
        ABSL_NO_THREAD_SAFETY_ANALYSIS {
      // What was due at the last look still is. Reading the clock takes longer
      // than all the rest.
      due_ = queue_->waiting_.KnownDue();
      return due_ != kNoSlabId ? absl::OkStatus() : WaitForDue(timeout);
    }

    // The id of the value that `AwaitDue()` has found.
    SlabId due() const { return due_; }

   private:
    absl::Status WaitForDue(absl::Duration timeout);
    void GiveBackParker();

    DelayQueueBase* const queue_;
    LeaderFollowers::Waiter waiter_;
    std::unique_ptr<Parker> parker_;  // null until the thread blocks
    SlabId due_ = kNoSlabId;
    std::optional<MutexLock> lock_;
  };

  DelayQueueBase(const QueueClock& clock, const WaitingSetOptions& waiting_set);
  ~DelayQueueBase() = default;

  // Returns the id of the first value that is due at `now`, or was due at the
  // shutdown, whatever the clock shows now; `kNoSlabId` if there is none.
  SlabId Due(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return waiting_.Due((std::max)(now, shut_down_at_));
  }

  // Blocks until no call waits for a value, and calls_ is zero.
  void AwaitCalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  // That of the clock, if the program drives it, and null otherwise.
  const std::shared_ptr<WaitingLoop> driven_loop_;

  mutable sync::Mutex mu_;
  // When the values are due, by their ids.
  WaitingSet waiting_ ABSL_GUARDED_BY(mu_);
  // The number of calls that have freed the lock and will take it again.
  size_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  // Written under mu_.
  sync::Atomic<bool> shutting_down_{false};
  absl::Time shut_down_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  LeaderFollowers waiters_ ABSL_GUARDED_BY(mu_);

 private:
  std::unique_ptr<Parker> TakeParker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Those of threads that no longer wait, for the next ones.
  std::vector<std::unique_ptr<Parker>> parkers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_INTERNAL_DELAY_QUEUE_BASE_H_
