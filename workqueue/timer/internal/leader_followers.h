// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/internal/leader_followers.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_
#define WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_

#include <algorithm>

#include "absl/time/time.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/intrusive_list.h"
#include "workqueue/internal/wake_time.h"

namespace workqueue {
namespace internal {

// LeaderFollowers
//
// Who of the threads that wait for the first of many times wakes for it. One of
// them, the leader, sleeps until then; the others, the followers, until they
// are woken. Who leaves passes the lead on. (The leader-follower pattern, as in
// java.util.concurrent.DelayQueue.)
//
// A thread that finds nothing to do calls `BeginWait()` and parks until the
// time that this returns, without the lock; then it looks again, and calls
// `EndWait()` and `PassOnLead()` when it waits no more:
//
//     while (true) {
//       absl::Time wake_at;
//       {
//         MutexLock lock(&mu_);
//         waiters_.EndWait(&waiter);
//         if (... there is something to do ...) {
//           ...
//           waiters_.PassOnLead(... is there more to wait for? ...);
//           return;
//         }
//         wake_at = waiters_.BeginWait(&waiter, ...);
//       }
//       waiter.parker->ParkUntil(wake_at);
//     }
//
// Between two calls it holds that if there is anything to wait for and a thread
// waits, there is a leader, which is asleep until the first time at the latest
// or has been woken and has not yet looked.
//
// Not thread-safe: every call is made with the lock held that guards what is
// waited for.
class LeaderFollowers {
 public:
  // A thread that waits.
  struct Waiter : internal::IntrusiveLink<Waiter> {
    Parker* parker = nullptr;
    bool following = false;
  };

  LeaderFollowers() = default;
  LeaderFollowers(const LeaderFollowers&) = delete;
  LeaderFollowers& operator=(const LeaderFollowers&) = delete;

  // `waiter` waits from now on, until `deadline` at most; `first` is the first
  // time that there is to wait for, infinitely late if there is none. Returns
  // until when it sleeps, if nobody unparks it.
  absl::Time BeginWait(Waiter* waiter, absl::Time first, absl::Time deadline) {
    if (leader_ == nullptr && first < absl::InfiniteFuture()) {
      leader_ = waiter;
      const absl::Time wake_at = std::min(first, deadline);
      leader_wake_time_.Set(wake_at);
      return wake_at;
    }
    followers_.PushBack(waiter);
    waiter->following = true;
    return deadline;
  }

  // `waiter` waits no more, if it did.
  void EndWait(Waiter* waiter) {
    if (leader_ == waiter) leader_ = nullptr;
    if (waiter->following) followers_.Remove(waiter);
    waiter->following = false;
  }

  // Whether nobody waits.
  bool empty() const { return leader_ == nullptr && followers_.empty(); }

  // There is something to do at `time`: unparks the thread that is to wait for
  // that, if any waits and none would be there in time.
  void WakeBy(absl::Time time) {
    if (leader_ == nullptr) {
      PassOnLead(time < absl::InfiniteFuture());
    } else if (leader_wake_time_.WakeBy(time)) {
      leader_->parker->Unpark();
    }
  }

  // Sees that there is a leader, if there is anything to wait for and a thread
  // waits.
  void PassOnLead(bool anything_to_wait_for) {
    if (leader_ != nullptr || !anything_to_wait_for || followers_.empty()) {
      return;
    }
    leader_ = followers_.PopFront();
    leader_->following = false;
    WakeLeader();
  }

  // Unparks all.
  void WakeAll() {
    if (leader_ != nullptr) WakeLeader();
    for (Waiter* waiter = followers_.front(); waiter != nullptr;
         waiter = waiter->next()) {
      waiter->parker->Unpark();
    }
  }

 private:
  void WakeLeader() {
    leader_wake_time_.Clear();
    leader_->parker->Unpark();
  }

  Waiter* leader_ = nullptr;
  internal::WakeTime leader_wake_time_;
  internal::IntrusiveList<Waiter> followers_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_
