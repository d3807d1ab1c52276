// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_INTERNAL_TIME_SCALE_H_
#define WORKQUEUE_TIMER_INTERNAL_TIME_SCALE_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "workqueue/base/finite_time.h"

namespace workqueue::internal {

// TimeScale
//
// Represents times as whole nanoseconds since a start, which must be finite.
// These have half the size of an `absl::Time` and are faster to compare.
//
// Use `Ceil()` for a time at which something is due: a time more than 292 years
// before or after the start becomes infinite. Use `Floor()` for the current
// time: it never becomes the infinite future, which never comes.
class TimeScale {
 public:
  // The infinite past and future.
  static constexpr int64_t kAlways = (std::numeric_limits<int64_t>::min)();
  static constexpr int64_t kNever = (std::numeric_limits<int64_t>::max)();

  explicit TimeScale(absl::Time start) : start_(start) {}

  // Returns the scale whose start is closest to `time`, and not after it, among
  // those whose start is a multiple of `unit` from the start of this one.
  // `time` must be finite.
  TimeScale StartedAt(absl::Time time, absl::Duration unit) const {
    const absl::Time start = start_ + absl::Floor(time - start_, unit);
    // Two finite times may be infinitely far apart.
    return TimeScale(FiniteTime(start) == start ? start : time);
  }

  // Returns the last nanosecond that is not after `time`.
  int64_t Floor(absl::Time time) const {
    absl::Duration rest;
    const int64_t ns = Divide(time, &rest);
    if (ns == kNever) return kNever - 1;
    return rest < absl::ZeroDuration() && ns > kAlways ? ns - 1 : ns;
  }

  // Returns the first nanosecond that is not before `time`.
  int64_t Ceil(absl::Time time) const {
    absl::Duration rest;
    const int64_t ns = Divide(time, &rest);
    return rest > absl::ZeroDuration() && ns < kNever ? ns + 1 : ns;
  }

  // Returns the time of `ns`.
  absl::Time TimeAt(int64_t ns) const {
    if (ns == kNever) return absl::InfiniteFuture();
    if (ns == kAlways) return absl::InfinitePast();
    return start_ + absl::Nanoseconds(ns);
  }

 private:
  // Rounds toward zero, and stores the remainder in `*rest`.
  int64_t Divide(absl::Time time, absl::Duration* rest) const {
    const absl::Duration since_start = time - start_;
    const int64_t ns = absl::ToInt64Nanoseconds(since_start);
    *rest = since_start - absl::Nanoseconds(ns);
    return ns;
  }

  absl::Time start_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_INTERNAL_TIME_SCALE_H_
