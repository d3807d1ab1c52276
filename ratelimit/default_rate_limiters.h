// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rate limiters for use where no other limiter is required. Their structure and
// their figures come from client-go's functions of the same names.

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
// Returns a new limiter for a controller's queue. It combines two limits and
// returns the longer delay:
//
// - An item's own delay is 5 ms after its first failure and doubles with each
//   further failure, up to 1000 s.
// - All items together take tokens from a bucket that holds 100 and gains 10
//   per second.
//
// `clock` is the bucket's clock and must outlive the limiter. Null means the
// real clock. `Hash` and `Eq` have the requirements stated at
// `ItemExponentialFailureRateLimiter`.
//
// Example:
//
//     auto limiter = workqueue::DefaultControllerRateLimiter<std::string>();
//     limiter->When("pod");    // 5 ms
//
// Like client-go's, this limiter tracks any number of items. The right bound
// depends on the controller. `ItemExponentialFailureRateLimiter` explains how
// to choose it. This code makes the same limiter with a bound:
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
  clock = OrRealClock(clock);
  // No Create() fails with these arguments.
  return *MaxOfRateLimiter<T>::Create(
      *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
          absl::Milliseconds(5), absl::Seconds(1000)),
      *BucketRateLimiter<T, Hash, Eq>::Create(
          *TokenBucket::Create(/*rate=*/10, /*burst=*/100, clock)));
}

// DefaultItemBasedRateLimiter
//
// Returns a new limiter that looks at each item separately. An item's delay is
// 1 ms after its first failure and doubles with each further failure, up to
// 1000 s. The limiter tracks any number of items. For a limiter with a bound,
// create an `ItemExponentialFailureRateLimiter` with these delays. `Hash` and
// `Eq` have the requirements stated there.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
std::unique_ptr<RateLimiter<T>> DefaultItemBasedRateLimiter() {
  return *ItemExponentialFailureRateLimiter<T, Hash, Eq>::Create(
      absl::Milliseconds(1), absl::Seconds(1000));
}

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_DEFAULT_RATE_LIMITERS_H_
