// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/scoped_timer_slack.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_SCOPED_TIMER_SLACK_H_
#define WORKQUEUE_CLOCK_INTERNAL_SCOPED_TIMER_SLACK_H_

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace workqueue {
namespace internal {

// ScopedTimerSlack
//
// While there is one, what the calling thread waits for does not come late so
// that other timers can expire with it. Linux allows itself 50 us for that, a
// thread's "timer slack", unless told otherwise: as much as all the rest of a
// wake-up takes. The thread has its own slack back when this goes.
//
// Costs three system calls. Where there is no slack it does nothing.
class ScopedTimerSlack {
 public:
  ScopedTimerSlack(const ScopedTimerSlack&) = delete;
  ScopedTimerSlack& operator=(const ScopedTimerSlack&) = delete;

#ifdef __linux__
  ScopedTimerSlack() : slack_(prctl(PR_GET_TIMERSLACK)) {
    if (slack_ > kLeastSlack) prctl(PR_SET_TIMERSLACK, kLeastSlack);
  }
  ~ScopedTimerSlack() {
    if (slack_ > kLeastSlack) prctl(PR_SET_TIMERSLACK, slack_);
  }

 private:
  static constexpr int kLeastSlack = 1;  // a nanosecond; 0 is the default one

  const int slack_;  // negative if it cannot be had
#else
  ScopedTimerSlack() {}
  ~ScopedTimerSlack() {}
#endif
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_SCOPED_TIMER_SLACK_H_
