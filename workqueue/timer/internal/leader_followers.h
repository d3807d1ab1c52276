// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_
#define WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_

#include <algorithm>

#include "absl/time/time.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/parker.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// LeaderFollowers
//
// Coordinates threads that wait for the first of many times. One of them, the
// leader, sleeps until that time; the others, the followers, sleep until they
// are woken. A leader that stops waiting makes a follower the leader. (This is
// the leader-follower pattern, as in java.util.concurrent.DelayQueue.)
//
// A thread that finds nothing to do calls `BeginWait()`, releases the lock and
// parks until the time that `BeginWait()` has returned. Then it calls
// `EndWait()` and looks again. When it finds something to do, it calls
// `PassOnLead()`.
//
// Example:
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
// Between two calls, if there is anything to wait for and any thread waits,
// then there is a leader. The leader sleeps until the first time at the latest,
// or has been woken and has not looked yet.
//
// Not thread-safe: the lock that guards the times must be held for every call.
class LeaderFollowers {
 public:
  // A waiting thread.
  struct Waiter : internal::IntrusiveLink<Waiter> {
    Parker* parker = nullptr;
    bool following = false;
  };

  LeaderFollowers() = default;
  LeaderFollowers(const LeaderFollowers&) = delete;
  LeaderFollowers& operator=(const LeaderFollowers&) = delete;

  // Registers `waiter`, which waits until `deadline` at the latest. `first` is
  // the first time to wait for, or the infinite future if there is none.
  // Returns the time until which the thread must park.
  absl::Time BeginWait(Waiter* waiter, absl::Time first, absl::Time deadline) {
    if (leader_ == nullptr && first < absl::InfiniteFuture()) {
      leader_ = waiter;
      const absl::Time wake_at = (std::min)(first, deadline);
      leader_wake_time_.Set(wake_at);
      return wake_at;
    }
    followers_.PushBack(waiter);
    waiter->following = true;
    return deadline;
  }

  // Unregisters `waiter`. Does nothing if it is not registered.
  void EndWait(Waiter* waiter) {
    if (leader_ == waiter) leader_ = nullptr;
    if (waiter->following) followers_.Remove(waiter);
    waiter->following = false;
  }

  // Returns whether no thread waits.
  bool empty() const { return leader_ == nullptr && followers_.empty(); }

  // Unparks a thread for something to do at `time`, unless no thread waits or
  // the leader wakes early enough.
  void WakeBy(absl::Time time) {
    if (leader_ == nullptr) {
      PassOnLead(time < absl::InfiniteFuture());
    } else if (leader_wake_time_.WakeBy(time)) {
      leader_->parker->Unpark();
    }
  }

  // Makes the first follower the leader and unparks it, if there is no leader
  // but something to wait for.
  void PassOnLead(bool anything_to_wait_for) {
    if (leader_ != nullptr || !anything_to_wait_for || followers_.empty()) {
      return;
    }
    leader_ = followers_.PopFront();
    leader_->following = false;
    WakeLeader();
  }

  // Unparks all waiting threads.
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

// LoopParker
//
// Makes a client of a `WaitingLoop` one of the waiters of `LeaderFollowers`. In
// the place of parking, the client returns the time from `Run()`.
//
// Thread-safe.
class LoopParker final : public Parker {
 public:
  // Nothing is owned.
  LoopParker(WaitingLoop* loop, WaitingLoop::Client* client)
      : loop_(loop), client_(client) {}

  bool ParkUntil(absl::Time) override { return false; }  // never called
  void Unpark() override { loop_->Wake(client_); }

 private:
  WaitingLoop* const loop_;
  WaitingLoop::Client* const client_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_INTERNAL_LEADER_FOLLOWERS_H_
