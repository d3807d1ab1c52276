// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_WITH_JITTER_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_WITH_JITTER_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "ratelimit/rate_limiter.h"

namespace workqueue {

// WithJitterRateLimiter
//
// This class varies the delays of another limiter at random. Use it so that
// items that failed at the same moment are not tried again at the same moment.
//
// A factor above 1 makes a delay longer than the other limiter's maximum. Wrap
// this limiter in a `WithMaxWaitRateLimiter` to keep to a maximum. It shortens
// the delay before and after it is varied, so that the longest delays vary,
// too. So does an `AddOptions::after` of a rate limited addition.
//
// With a factor below 1, this limiter must not be around a `BucketRateLimiter`,
// such as that of `DefaultControllerRateLimiter()`: an item would come before
// its token, and one that then fails waits for the same token again, so that
// one token pays for many retries. A `MaxOfRateLimiter` around both keeps to
// the rate.
//
// Thread-safe.
//
// Example:
//
//     auto jitter =
//         workqueue::Jitter::Create(workqueue::JitterOptions::Full());
//     if (!jitter.ok()) return jitter.status();
//     auto varied = workqueue::WithJitterRateLimiter<std::string>::Create(
//         workqueue::DefaultItemBasedRateLimiter<std::string>(),
//         *std::move(jitter));
//     if (!varied.ok()) return varied.status();
//     auto bucket = workqueue::TokenBucket::Create(/*rate=*/10, /*burst=*/100);
//     if (!bucket.ok()) return bucket.status();
//     auto all = workqueue::BucketRateLimiter<std::string>::Create(
//         *std::move(bucket));
//     if (!all.ok()) return all.status();
//     auto limiter = workqueue::MaxOfRateLimiter<std::string>::Create(
//         *std::move(varied), *std::move(all));
//     if (!limiter.ok()) return limiter.status();
//     options.rate_limiter = *std::move(limiter);
template <typename T>
class WithJitterRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that owns `limiter` and varies its delays by
  // `jitter`, which other limiters may use, too.
  //
  // Returns an `absl::InvalidArgumentError` if one of them is null.
  static absl::StatusOr<std::unique_ptr<WithJitterRateLimiter>> Create(
      std::unique_ptr<RateLimiter<T>> limiter, std::shared_ptr<Jitter> jitter) {
    if (limiter == nullptr) {
      return absl::InvalidArgumentError("limiter is null; it must be given");
    }
    if (jitter == nullptr) {
      return absl::InvalidArgumentError("jitter is null; it must be given");
    }
    return absl::WrapUnique(
        new WithJitterRateLimiter(std::move(limiter), std::move(jitter)));
  }

  // Counts a failure of `item` in the other limiter. Returns that limiter's
  // delay, multiplied by a random factor. An infinite delay stays infinite.
  absl::Duration When(const T& item) override {
    return jitter_->Vary(limiter_->When(item));
  }
  absl::Duration WhenUpTo(const T& item, absl::Duration max) override {
    return (std::min)(jitter_->Vary(limiter_->WhenUpTo(item, max)), max);
  }

  // Makes the other limiter forget `item`.
  void Forget(const T& item) override { limiter_->Forget(item); }

  // Returns the other limiter's count for `item`.
  int NumRequeues(const T& item) override {
    return limiter_->NumRequeues(item);
  }

  // Returns the other limiter's number.
  std::optional<size_t> NumTracked() override { return limiter_->NumTracked(); }

  // Returns the other limiter's maximum, multiplied by the largest factor.
  absl::Duration MaxDelay() const override {
    return jitter_->Longest(limiter_->MaxDelay());
  }

 private:
  WithJitterRateLimiter(std::unique_ptr<RateLimiter<T>> limiter,
                        std::shared_ptr<Jitter> jitter)
      : limiter_(std::move(limiter)), jitter_(std::move(jitter)) {}

  const std::unique_ptr<RateLimiter<T>> limiter_;
  const std::shared_ptr<Jitter> jitter_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_WITH_JITTER_RATE_LIMITER_H_
