// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/rate_limiter.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_RATE_LIMITER_H_

#include "absl/time/time.h"

namespace workqueue {

// RateLimiter
//
// Decides how long an item that failed waits before it is tried again. A
// rate-limiting queue asks it for each item that it is given back.
//
// Implementations must be thread-safe: all methods may be called at any time
// from any thread.
//
// Example, one that lets every item wait for a second:
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

  // Counts a failure of `item` and returns how long it should wait. The result
  // is never negative; zero means not at all, `absl::InfiniteDuration()` that
  // no time is long enough.
  virtual absl::Duration When(const T& item) = 0;

  // Stops tracking `item`: its failures so far no longer count. To be called
  // when nobody will try it again, whether it succeeded or was given up. Does
  // nothing to an item that is not tracked.
  virtual void Forget(const T& item) = 0;

  // Returns how many failures of `item` count; zero if it is not tracked.
  virtual int NumRequeues(const T& item) = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_RATE_LIMITER_H_
