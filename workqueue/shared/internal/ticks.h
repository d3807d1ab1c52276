// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/shared/internal/ticks.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_SHARED_INTERNAL_TICKS_H_
#define WORKQUEUE_SHARED_INTERNAL_TICKS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue {
namespace internal {

// Ticks
//
// Converts durations to an engine's ticks of a fixed length, and back.
class Ticks {
 public:
  explicit Ticks(absl::Duration tick) : tick_(tick) {}

  // Returns `d` in ticks, rounded up, so that nothing comes early. The engine
  // keeps numbers up to 2^53; a longer duration never passes.
  int64_t From(absl::Duration d) const {
    if (d <= absl::ZeroDuration()) return 0;
    absl::Duration rest;
    const int64_t ticks = absl::IDivDuration(d, tick_, &rest);
    if (ticks >= kMax) return kForever;
    return rest > absl::ZeroDuration() ? ticks + 1 : ticks;
  }

  absl::Duration ToDuration(int64_t ticks) const {
    return ticks == kForever ? absl::InfiniteDuration() : ticks * tick_;
  }

 private:
  // Half of what a double counts exactly, so that a sum of two is exact.
  static constexpr int64_t kMax = int64_t{1} << 52;

  const absl::Duration tick_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_INTERNAL_TICKS_H_
