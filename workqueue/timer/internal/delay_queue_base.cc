// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/internal/delay_queue_base.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::internal {

DelayQueueBase::DelayQueueBase(const QueueClock& clock,
                               const WaitingSetOptions& waiting_set)
    : clock_(clock.clock()),
      driven_loop_(clock.DrivenLoop()),
      waiting_(waiting_set, clock_) {}

size_t DelayQueueBase::Len() const {
  MutexLock lock(&mu_);
  return waiting_.size();
}

void DelayQueueBase::AwaitCalls() {
  const auto none = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return waiters_.empty() && calls_ == 0;
  };
  mu_.Await(absl::Condition(&none));
}

std::unique_ptr<Parker> DelayQueueBase::TakeParker() {
  constexpr size_t kKeep = 16;
  parkers_.reserve(kKeep);
  if (parkers_.empty()) {
    return clock_->NewParker(Parker::Role::kCaller);
  }
  std::unique_ptr<Parker> parker = std::move(parkers_.back());
  parkers_.pop_back();
  return parker;
}

void DelayQueueBase::DueLock::GiveBackParker() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<std::unique_ptr<Parker>>& parkers = queue_->parkers_;
  if (parkers.size() < parkers.capacity()) {
    parkers.push_back(std::move(parker_));
  }
  parker_.reset();  // with the lock held: later, the clock may be gone
}

absl::Status DelayQueueBase::DueLock::WaitForDue(absl::Duration timeout)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  absl::Time now = FiniteTime(queue_->clock_->TimeNow());
  const absl::Time deadline = now + timeout;
  while (true) {
    due_ = queue_->Due(now);
    if (due_ != kNoSlabId) return absl::OkStatus();
    if (queue_->ShuttingDown()) {
      return absl::CancelledError("the queue has been shut down");
    }
    // Without a message: a caller that polls must not allocate.
    if (deadline <= now) return absl::DeadlineExceededError("");
    if (queue_->driven_loop_ != nullptr && queue_->driven_loop_->IsRunHere()) {
      return WouldBlockLoopError();
    }
    if (parker_ == nullptr) parker_ = queue_->TakeParker();
    waiter_.parker = parker_.get();
    const absl::Time wake_at = queue_->waiters_.BeginWait(
        &waiter_, queue_->waiting_.NextWake(), deadline);
    lock_.reset();
    parker_->ParkUntil(wake_at);
    lock_.emplace(&queue_->mu_);
    queue_->waiters_.EndWait(&waiter_);
    due_ = queue_->waiting_.KnownDue();
    if (due_ != kNoSlabId) return absl::OkStatus();
    now = FiniteTime(queue_->clock_->TimeNow());
  }
}

}  // namespace workqueue::internal
