// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_WITH_MAX_WAIT_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_WITH_MAX_WAIT_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/check_duration.h"

namespace workqueue {

// WithMaxWaitRateLimiter
//
// This class shortens the delays of another limiter to at most `max_delay`. Use
// it with a limiter whose delays have no maximum, for example a
// `BucketRateLimiter` under many requests. It does what client-go's limiter of
// the same name does, except that an item whose delay is shortened takes no
// token of a bucket. So the bucket's debt ends: `max_delay` after the last
// failure of an outage, a failure waits for its own token only.
//
// Thread-safe.
//
// Example:
//
//     auto limiter = workqueue::WithMaxWaitRateLimiter<std::string>::Create(
//         std::move(bucket_limiter), absl::Minutes(5));
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // 5 minutes if the bucket's delay is an hour
template <typename T>
class WithMaxWaitRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that owns `limiter` and shortens its delays.
  //
  // Returns an `absl::InvalidArgumentError` if `limiter` is null, or if
  // `max_delay` is negative or infinite.
  static absl::StatusOr<std::unique_ptr<WithMaxWaitRateLimiter>> Create(
      std::unique_ptr<RateLimiter<T>> limiter, absl::Duration max_delay) {
    if (limiter == nullptr) {
      return absl::InvalidArgumentError("limiter is null; it must be given");
    }
    absl::Status status =
        internal::CheckFiniteAndNotNegative("max_delay", max_delay);
    if (!status.ok()) return status;
    return absl::WrapUnique(
        new WithMaxWaitRateLimiter(std::move(limiter), max_delay));
  }

  // Counts a failure of `item` in the other limiter. Returns the smaller of
  // that limiter's delay and `max_delay`, and never less than zero.
  absl::Duration When(const T& item) override {
    return WhenUpTo(item, max_delay_);
  }
  absl::Duration WhenUpTo(const T& item, absl::Duration max) override {
    max = (std::min)(max, max_delay_);
    return std::clamp(limiter_->WhenUpTo(item, max), absl::ZeroDuration(), max);
  }

  // Makes the other limiter forget `item`.
  void Forget(const T& item) override { limiter_->Forget(item); }

  // Returns the other limiter's count for `item`.
  int NumRequeues(const T& item) override {
    return limiter_->NumRequeues(item);
  }

  // Returns the other limiter's number.
  std::optional<size_t> NumTracked() override { return limiter_->NumTracked(); }

  // Returns the smaller of the other limiter's maximum and `max_delay`.
  absl::Duration MaxDelay() const override {
    return (std::min)(limiter_->MaxDelay(), max_delay_);
  }

 private:
  WithMaxWaitRateLimiter(std::unique_ptr<RateLimiter<T>> limiter,
                         absl::Duration max_delay)
      : limiter_(std::move(limiter)), max_delay_(max_delay) {}

  const std::unique_ptr<RateLimiter<T>> limiter_;
  const absl::Duration max_delay_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_WITH_MAX_WAIT_RATE_LIMITER_H_
