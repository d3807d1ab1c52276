// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/random_delays.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BENCH_RANDOM_DELAYS_H_
#define WORKQUEUE_BENCH_RANDOM_DELAYS_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "absl/time/time.h"

namespace workqueue {

// RandomDelays
//
// This class draws delays that are spread evenly over an interval. Each run has
// the same delays. A draw takes a few nanoseconds, so that a benchmark can draw
// during a measurement.
//
// The generator is xorshift64*, from S. Vigna, "An experimental exploration of
// Marsaglia's xorshift generators, scrambled", 2016.
class RandomDelays {
 public:
  // Draws from `min` (inclusive) to `max` (exclusive).
  RandomDelays(absl::Duration min, absl::Duration max)
      : min_(min), span_(absl::ToInt64Nanoseconds(max - min)) {}

  absl::Duration Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const absl::uint128 random = state_ * 0x2545F4914F6CDD1D;
    return min_ + absl::Nanoseconds(static_cast<int64_t>(
                      absl::Uint128High64(random * span_)));
  }

 private:
  const absl::Duration min_;
  const uint64_t span_;
  uint64_t state_ = 1;
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_RANDOM_DELAYS_H_
