// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/internal/deadline_waiters.h"

#include <cstddef>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

using internal::MutexLock;

// One waiting thread. The object is on that thread's stack. The thread may
// leave at any time until Expire() has chosen it. A chosen thread stays until
// Expire() has set `expired`, so that Expire() never uses a destroyed waiter or
// mutex.
struct DeadlineWaiters::Waiter : internal::IntrusiveLink<Waiter> {
  Waiter(sync::Mutex* m, const absl::Condition* c) : mu(m), cond(c) {}

  bool Ready() { return expired || cond->Eval(); }

  sync::Mutex* const mu;
  const absl::Condition* const cond;
  bool chosen = false;   // guarded by DeadlineWaiters::mu_
  bool expired = false;  // guarded by *mu
};

bool DeadlineWaiters::Await(sync::Mutex* mu, const absl::Condition& cond,
                            absl::Time deadline) {
  if (cond.Eval()) return true;

  Waiter waiter(mu, &cond);
  WaiterMap::iterator position;
  {
    MutexLock lock(&mu_);
    if (deadline <= now_) return false;
    position = waiters_.emplace(deadline, &waiter);
  }
  begun_();

  mu->Await(absl::Condition(&waiter, &Waiter::Ready));

  bool chosen;
  {
    MutexLock lock(&mu_);
    chosen = waiter.chosen;
    if (!chosen) waiters_.erase(position);
  }
  if (chosen) mu->Await(absl::Condition(&waiter.expired));
  ended_();
  if (chosen) {
    MutexLock lock(&mu_);
    --leaving_;
  }
  return cond.Eval();
}

void DeadlineWaiters::Expire(absl::Time now) {
  internal::IntrusiveList<Waiter> due;
  {
    MutexLock lock(&mu_);
    now_ = now;
    const auto end = waiters_.upper_bound(now);
    for (auto it = waiters_.begin(); it != end; ++it) {
      it->second->chosen = true;
      due.PushBack(it->second);
    }
    waiters_.erase(waiters_.begin(), end);
    leaving_ += due.size();
  }
  while (!due.empty()) {
    Waiter* const waiter = due.PopFront();
    MutexLock lock(waiter->mu);
    waiter->expired = true;
  }
}

void DeadlineWaiters::AwaitExpired() {
  MutexLock lock(&mu_);
  mu_.Await(absl::Condition(
      +[](size_t* leaving) { return *leaving == 0; }, &leaving_));
}

absl::Time DeadlineWaiters::Earliest() const {
  MutexLock lock(&mu_);
  return waiters_.empty() ? absl::InfiniteFuture() : waiters_.begin()->first;
}

size_t DeadlineWaiters::Count() const {
  MutexLock lock(&mu_);
  return waiters_.size();
}

}  // namespace workqueue::internal
