// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/bucket_rate_limiter.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_

#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"

namespace workqueue {

// BucketRateLimiter
//
// This class limits the rate of all items together. Each item takes one token
// from a `TokenBucket` and waits until that token has come. The limiter tracks
// no items, so `Forget()` and `NumRequeues()` have nothing to do.
//
// Several limiters may share a bucket. The bucket then limits all their items
// together.
//
// Thread-safe. Every operation takes constant time. `When()` takes the bucket's
// mutex and blocks for nothing else.
//
// Example:
//
//     auto bucket = workqueue::TokenBucket::Create(/*rate=*/10, /*burst=*/100);
//     if (!bucket.ok()) return bucket.status();
//     auto limiter = workqueue::BucketRateLimiter<std::string>::Create(
//         *std::move(bucket));
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // zero for the first hundred calls
template <typename T>
class BucketRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that takes its tokens from `bucket` and shares its
  // ownership.
  //
  // Returns an `absl::InvalidArgumentError` if `bucket` is null.
  static absl::StatusOr<std::unique_ptr<BucketRateLimiter>> Create(
      std::shared_ptr<TokenBucket> bucket) {
    if (bucket == nullptr) {
      return absl::InvalidArgumentError("bucket must not be null");
    }
    return absl::WrapUnique(new BucketRateLimiter(std::move(bucket)));
  }

  // Takes a token and returns the time until it comes, zero if it is there. If
  // the token would never come, takes none and returns
  // `absl::InfiniteDuration()`. This happens if the bucket is empty and its
  // rate is zero, or if the wait would be 2^63 ns (292 years) or longer.
  absl::Duration When(const T&) override { return bucket_->Reserve().Delay(); }

  // Does nothing.
  void Forget(const T&) override {}

  // Returns zero.
  int NumRequeues(const T&) override { return 0; }

  // Returns `absl::InfiniteDuration()`: a token may never come.
  absl::Duration MaxDelay() const override { return absl::InfiniteDuration(); }

 private:
  explicit BucketRateLimiter(std::shared_ptr<TokenBucket> bucket)
      : bucket_(std::move(bucket)) {}

  const std::shared_ptr<TokenBucket> bucket_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_
