// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/waiting_set_options.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_WAITING_SET_OPTIONS_H_
#define WORKQUEUE_TIMER_WAITING_SET_OPTIONS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace workqueue {

// WaitingSetOptions
//
// What keeps the values that wait for their time: a heap, or a timing wheel.
//
// The heap is the default. It is exact, and takes O(log n) to add, move or
// remove one of n values.
//
// The timing wheel takes constant time for that, however many there are. Time
// goes by in ticks, and a value comes out at the first tick that is not before
// its time: never early, and late by at most one tick. One that is due when it
// is added comes out at once. Values of one tick come out in no particular
// order. It is for very many timeouts, most of which are cancelled or reset
// before they are over.
//
// What is due more than 292 years after either was made never comes out.
class WaitingSetOptions {
 public:
  // A heap.
  WaitingSetOptions() = default;

  // Returns a timing wheel: a ring of `slots`, each of which holds what comes
  // out at one tick. Values further away than one turn of the ring are in
  // further rings, in which a slot stands for a whole turn of the ring before
  // (a hierarchical timing wheel, as in G. Varghese and A. Lauck, "Hashed and
  // Hierarchical Timing Wheels", 1987); so no turn looks at values of later
  // ones. An empty wheel does nothing.
  //
  // Takes memory for each slot of each ring in use, about 16 bytes, and 64 more
  // if there is anything in it.
  //
  // Returns an `absl::InvalidArgumentError` if `tick` is less than a nanosecond
  // or more than 24 hours, or if `slots` is less than 2 or more than a million.
  // Fractions of a nanosecond are cut off.
  static absl::StatusOr<WaitingSetOptions> TimingWheel(
      absl::Duration tick = absl::Milliseconds(1), size_t slots = 256);

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
