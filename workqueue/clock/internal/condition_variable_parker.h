// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_INTERNAL_CONDITION_VARIABLE_PARKER_H_
#define WORKQUEUE_CLOCK_INTERNAL_CONDITION_VARIABLE_PARKER_H_

#include <algorithm>
#include <chrono>  // NOLINT(build/c++11)
#include <mutex>   // NOLINT(build/c++11)

#include "absl/time/time.h"
#include "workqueue/clock/internal/timer_slack.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/std_sync.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// ConditionVariableParker
//
// This class is a `Parker` for a clock that reads `epoch` at the epoch of the
// monotonic clock. It waits on the standard library's condition variable, which
// can wait on the monotonic clock (in libstdc++ since GCC 10, with glibc 2.30).
// absl::CondVar cannot. The thread of a loop wakes as precisely as the machine
// can.
class ConditionVariableParker final : public Parker {
 public:
  ConditionVariableParker(absl::Time epoch, Role role)
      : epoch_(epoch), role_(role) {}

  ~ConditionVariableParker() override {
    // The thread that has been woken may destroy this parker before `Unpark()`
    // has returned.
    while (notifying_.load() > 0) {
      sync::Yield();
    }
  }

  bool ParkUntil(absl::Time deadline) override {
    if (role_ == Role::kLoop) MinimizeTimerSlack();
    const absl::Duration end = deadline - epoch_;
    std::unique_lock<sync::StdMutex> lock(mu_);
    while (!unparked_) {
      const absl::Duration now = absl::Nanoseconds(sync::SteadyNanos());
      if (end <= now) break;
      cv_.wait_until(
          lock, std::chrono::steady_clock::time_point(absl::ToChronoNanoseconds(
                    (std::min)(end, now + kLongestWait))));
    }
    const bool unparked = unparked_;
    unparked_ = false;
    return unparked;
  }

  void Unpark() override {
    {
      std::lock_guard<sync::StdMutex> lock(mu_);
      unparked_ = true;
      notifying_.fetch_add(1);
    }
    // Without the mutex, because the woken thread takes it, and would have to
    // sleep again.
    cv_.notify_one();
    notifying_.fetch_sub(1);
  }

 private:
  // A longer wait is made of several, so that a deadline far in the future does
  // not overflow the types of the operating system.
  static constexpr absl::Duration kLongestWait = absl::Hours(24 * 365);

  const absl::Time epoch_;
  const Role role_;
  sync::StdMutex mu_;
  sync::StdConditionVariable cv_;
  bool unparked_ = false;  // guarded by mu_
  // The number of threads that notify cv_.
  sync::Atomic<int> notifying_{0};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CLOCK_INTERNAL_CONDITION_VARIABLE_PARKER_H_
