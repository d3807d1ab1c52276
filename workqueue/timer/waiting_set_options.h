// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_WAITING_SET_OPTIONS_H_
#define WORKQUEUE_TIMER_WAITING_SET_OPTIONS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace workqueue {

// WaitingSetOptions
//
// Chooses the data structure that keeps values until they are due: a heap or a
// timing wheel. An object of this class is always valid: the heap has no
// parameters, and `TimingWheel()` refuses parameters that are out of range.
//
// Example:
//
//     workqueue::DelayQueueOptions options;
//     auto wheel = workqueue::WaitingSetOptions::TimingWheel();
//     if (!wheel.ok()) return wheel.status();
//     options.waiting_set = *wheel;
//
// The heap is the default. It is exact, and adding, moving or removing one of n
// values takes O(log n).
//
// The timing wheel takes constant time for each of these. It divides time into
// ticks. A value comes out at the first tick that is not before its time: never
// early, and at most one tick late. A value that is due when it is added comes
// out immediately. Values of the same tick come out in any order. Use the wheel
// for a very large number of timeouts, most of which are cancelled or reset
// before they are due.
//
// Both count time in 64 bits of nanoseconds. So a value whose time is more than
// 146 years after the current time may never come out, not even when its time
// has come or at the last time of a clock. Values that are more than 292 years
// late come out in any order. This holds for the items of a `DelayingQueue` and
// the tasks of a `Scheduler`, too. A `PriorityQueue` has no such limit.
class WaitingSetOptions {
 public:
  // Chooses the heap.
  WaitingSetOptions() = default;

  // Chooses a timing wheel with a ring of `slots` slots, each of which holds
  // the values of one tick. Values beyond one turn of this ring are in further
  // rings; a slot of such a ring stands for a whole turn of the ring before it
  // (a hierarchical timing wheel: G. Varghese and A. Lauck, "Hashed and
  // Hierarchical Timing Wheels", 1987). So no turn visits the values of later
  // turns. An empty wheel wakes no thread.
  //
  // The wheel takes about 8 bytes for each slot of each ring in use.
  //
  // Returns `absl::InvalidArgumentError`, which names the parameter and its
  // value, if `tick` is less than a nanosecond or more than 24 hours, or if
  // `slots` is less than 2 or more than a million. Fractions of a nanosecond
  // are cut off.
  static absl::StatusOr<WaitingSetOptions> TimingWheel(
      absl::Duration tick = absl::Milliseconds(1), size_t slots = 256);

  // The choice. `tick()` and `slots()` are zero for a heap.
  bool is_timing_wheel() const { return slots_ != 0; }
  absl::Duration tick() const { return tick_; }
  size_t slots() const { return slots_; }

 private:
  WaitingSetOptions(absl::Duration tick, size_t slots)
      : tick_(tick), slots_(slots) {}

  absl::Duration tick_ = absl::ZeroDuration();
  size_t slots_ = 0;  // zero for a heap
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_WAITING_SET_OPTIONS_H_
