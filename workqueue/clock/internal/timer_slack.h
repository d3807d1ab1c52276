// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_
#define WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace workqueue::internal {

// Sets the timer slack of the calling thread to a nanosecond. Only a thread's
// first call does so, and makes a system call.
//
// Linux may delay a timed wait by the thread's timer slack, so that several
// timers expire together. The default is 50 us, as long as the rest of a
// wake-up takes. A thread that the calling thread creates later inherits its
// slack. Does nothing on systems without timer slack.
inline void MinimizeTimerSlack() {
#ifdef __linux__
  constexpr unsigned long kNanosecond = 1;  // NOLINT(runtime/int)
  // The result does not matter: without the call, waits are only less precise.
  thread_local const int result = prctl(PR_SET_TIMERSLACK, kNanosecond);
  static_cast<void>(result);
#endif
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_
