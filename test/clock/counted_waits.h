// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program that has this library replaces functions of the C library, and
// counts every timed wait on its way to the kernel. Not for sanitizers, which
// replace these functions themselves.

#ifndef WORKQUEUE_TEST_CLOCK_COUNTED_WAITS_H_
#define WORKQUEUE_TEST_CLOCK_COUNTED_WAITS_H_

#include <atomic>

namespace workqueue {

// The waits until a time of CLOCK_REALTIME, and of other clocks.
extern std::atomic<int> wall_clock_waits;
extern std::atomic<int> monotonic_waits;

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CLOCK_COUNTED_WAITS_H_
