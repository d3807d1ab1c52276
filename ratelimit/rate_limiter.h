// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "absl/time/time.h"
#include "workqueue/version.h"

namespace workqueue {

// The `max_tracked_items` of a limiter that tracks any number of items, as
// client-go's limiters do.
inline constexpr size_t kUnboundedItems = (std::numeric_limits<size_t>::max)();

// RateLimiter
//
// This interface decides how long a failed item waits before it is tried again.
// A queue's `AddRateLimited()` asks the queue's limiter for the item's delay.
//
// Implementations must be thread-safe: any thread may call any method at any
// time.
//
// Example, a limiter that makes every item wait for one second:
//
//     class OneSecond final : public workqueue::RateLimiter<std::string> {
//      public:
//       absl::Duration When(const std::string&) override {
//         return absl::Seconds(1);
//       }
//       void Forget(const std::string&) override {}
//       int NumRequeues(const std::string&) override { return 0; }
//     };
template <typename T>
class RateLimiter {
 public:
  virtual ~RateLimiter() = default;

  // Counts a failure of `item` and returns how long the item must wait. The
  // result is never negative. Zero means that the item need not wait.
  // `absl::InfiniteDuration()` means that the item may never be tried again.
  virtual absl::Duration When(const T& item) = 0;

  // Does what `When()` does, but returns at most `max`, which is not negative.
  // A limiter whose delay would be longer need not spend anything on the item:
  // a bucket keeps its token. The default returns the smaller of `When()` and
  // `max`.
  virtual absl::Duration WhenUpTo(const T& item, absl::Duration max) {
    return (std::min)(When(item), max);
  }

  // Stops tracking `item` and discards its count of failures. Call this when
  // the item will not be tried again, because it succeeded or was given up. Has
  // no effect if `item` is not tracked.
  virtual void Forget(const T& item) = 0;

  // Returns the number of failures counted for `item`, or zero if `item` is not
  // tracked.
  virtual int NumRequeues(const T& item) = 0;

  // Returns the number of tracked items: those that have failed and have not
  // been forgotten since. Returns nothing if the limiter does not know it,
  // which is the default. For metrics.
  virtual std::optional<size_t> NumTracked() { return std::nullopt; }

  // Returns the limiter's maximum: no delay that `When()` returns is longer.
  // Not negative, and always the same. The default is for a limiter without a
  // maximum: `absl::InfiniteDuration()`.
  virtual absl::Duration MaxDelay() const { return absl::InfiniteDuration(); }

  // Counts a failure of `item`, for which the caller knows the delay, and
  // returns this delay: at least zero, and at most `MaxDelay()`. Calls
  // `WhenUpTo()` with it, and discards the result.
  absl::Duration WhenAfter(const T& item, absl::Duration delay) {
    delay = (std::max)((std::min)(delay, MaxDelay()), absl::ZeroDuration());
    WhenUpTo(item, delay);
    return delay;
  }
};

namespace internal {

// Returns `failures` + 1, or `failures` if it is the largest `int`.
constexpr int OneMoreFailure(int failures) {
  return failures == (std::numeric_limits<int>::max)() ? failures
                                                       : failures + 1;
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_RATE_LIMITER_H_
