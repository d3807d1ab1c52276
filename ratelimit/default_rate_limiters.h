// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/default_rate_limiters.h
// -----------------------------------------------------------------------------
//
// The limiters to use when there is no reason to use others. The numbers are
// client-go's.

#ifndef WORKQUEUE_RATELIMIT_DEFAULT_RATE_LIMITERS_H_
#define WORKQUEUE_RATELIMIT_DEFAULT_RATE_LIMITERS_H_

#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// DefaultControllerRateLimiter
//
// Returns a limiter for a controller's queue. It delays an item by 5 ms after
// its first failure and by twice as long after each further one, up to 1000 s.
// It also limits all items together to 10 a second, once it has let 100 pass.
//
// `clock`, by which the second limit goes, must outlive the limiter; null means
// the real one. `Hash` and `Eq` are as for `ItemExponentialFailureRateLimiter`.
//
// Example:
//
//     auto limiter = workqueue::DefaultControllerRateLimiter<std::string>();
//     limiter->When("pod");    // 5 ms
//
// It tracks any number of items, like client-go's. How many is enough, only the
// controller knows; this is the same limiter with a bound, of which
// `ItemExponentialFailureRateLimiter` tells more:
//
//     auto items = workqueue::ItemExponentialFailureRateLimiter<
//         std::string>::Create(absl::Milliseconds(5), absl::Seconds(1000),
//                              /*max_tracked_items=*/10000);
//     if (!items.ok()) return items.status();
//     auto bucket = workqueue::TokenBucket::Create(/*rate=*/10, /*burst=*/100);
//     if (!bucket.ok()) return bucket.status();
//     auto all = workqueue::BucketRateLimiter<std::string>::Create(
//         *std::move(bucket));
//     if (!all.ok()) return all.status();
//     auto limiter = workqueue::MaxOfRateLimiter<std::string>::Create(
//         *std::move(items), *std::move(all));
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
std::unique_ptr<RateLimiter<T>> DefaultControllerRateLimiter(
    Clock* clock = Clock::GetRealClock()) {
  if (clock == nullptr) clock = Clock::GetRealClock();
  // With these numbers no Create() fails.
  return *MaxOfRateLimiter<T>::Create(
      *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
          absl::Milliseconds(5), absl::Seconds(1000)),
      *BucketRateLimiter<T>::Create(
          *TokenBucket::Create(/*rate=*/10, /*burst=*/100, clock)));
}

// DefaultItemBasedRateLimiter
//
// Returns a limiter that delays an item by 1 ms after its first failure and by
// twice as long after each further one, up to 1000 s, whatever other items do.
// It tracks any number of items; make an `ItemExponentialFailureRateLimiter`
// with these delays and a bound for one that does not. `Hash` and `Eq` are as
// for that.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
std::unique_ptr<RateLimiter<T>> DefaultItemBasedRateLimiter() {
  return *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
      absl::Milliseconds(1), absl::Seconds(1000));
}

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_DEFAULT_RATE_LIMITERS_H_
