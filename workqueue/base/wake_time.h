// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_WAKE_TIME_H_
#define WORKQUEUE_BASE_WAKE_TIME_H_

#include "absl/time/time.h"

namespace workqueue::internal {

// WakeTime
//
// The time until which one thread, the sleeper, sleeps. Other threads use it to
// wake the sleeper only if it would wake too late, and only once.
//
// Example: the sleeper stores its wake time with the lock held, and sleeps
// without the lock; a thread that adds an event wakes the sleeper if necessary.
//
//     {
//       MutexLock lock(&mu_);
//       wake_at = FirstEvent();
//       wake_time_.Set(wake_at);
//     }
//     parker_->ParkUntil(wake_at);
//
//     MutexLock lock(&mu_);
//     AddEvent(time);
//     if (wake_time_.WakeBy(time)) parker_->Unpark();
//
// The sleeper must look at the events under the same lock under which it calls
// `Set()`, and the other thread must add its event before it calls `WakeBy()`.
// Then the sleeper sleeps past no event.
//
// Not thread-safe: the lock that guards the events must be held for every call.
class WakeTime {
 public:
  // The sleeper will sleep until `time`. Call this before the sleeper releases
  // the lock.
  void Set(absl::Time time) { time_ = time; }

  // The sleeper is awake and will look at the events before it sleeps again.
  void Clear() { time_ = absl::InfinitePast(); }

  // Returns whether the sleeper sleeps beyond `time`. Returns false if the
  // sleeper is awake or has been woken.
  bool IsAfter(absl::Time time) const { return time < time_; }

  // Returns whether the caller must wake the sleeper for an event at `time`. If
  // so, further calls return false until the next `Set()`. With
  // `absl::InfinitePast()`, returns true whenever the sleeper sleeps.
  bool WakeBy(absl::Time time) {
    if (!IsAfter(time)) return false;
    Clear();
    return true;
  }

 private:
  // Infinitely past if the sleeper is awake or has been woken.
  absl::Time time_ = absl::InfinitePast();
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_WAKE_TIME_H_
