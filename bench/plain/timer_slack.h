// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/timer_slack.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/clock/internal/timer_slack.h.

#ifndef WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_
#define WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_

namespace workqueue {
namespace internal {

// Each thread keeps the slack that Linux gives it.
inline void MinimizeTimerSlack() {}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_TIMER_SLACK_H_
