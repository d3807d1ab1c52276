// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_TICKS_H_
#define WORKQUEUE_REDIS_TICKS_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue::internal {

// Times and durations in a server are whole numbers of ticks. This duration
// never passes.
constexpr int64_t kForever = (std::numeric_limits<int64_t>::max)();

// Ticks
//
// Converts durations to a server's ticks of a fixed length, and back.
class Ticks {
 public:
  explicit Ticks(absl::Duration tick) : tick_(tick) {}

  // Returns `d` in ticks, rounded up, so that nothing comes early. The server
  // keeps numbers up to 2^53; a duration of half as many ticks never passes.
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

// Checks a clock whose times are a server's, in nanoseconds. The server keeps
// numbers up to 2^53, which is 104 days. It would keep a larger time for good,
// and no later one could follow.
inline absl::Status CheckServersClock(Clock* clock) {
  const absl::Time now = clock->TimeNow();
  if (now < absl::UnixEpoch() + absl::Hours(24 * 100)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "clock_is_the_servers is true, and clock reads ",
      absl::FormatTime(now, absl::UTCTimeZone()),
      "; it must read less than 100 days after the Unix epoch, as a FakeClock "
      "does"));
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_TICKS_H_
