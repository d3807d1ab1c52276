// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/base/lru_map.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// BucketRateLimiter
//
// This class limits the rate of all items together. Each item takes one token
// from a `TokenBucket` and waits until that token has come. While it waits, it
// takes no other one. So an item that is added again and again does not make
// the others wait: the bucket owes at most one token to each item. (client-go's
// limiter takes a token at each call, and its debt grows without a bound.)
//
// The limiter counts no failures. It remembers an item until its token has
// come, whether or not the item is forgotten.
//
// Several limiters may share a bucket. The bucket then limits all their items
// together.
//
// If `TokenBucket::SetLimit()` makes the token of an item come sooner, the next
// call for this item says so. It never comes later than an earlier call said.
//
// A `WithJitterRateLimiter` with a factor below 1 must not be around this
// limiter: an item that came before its token, and failed, would wait for the
// same token again, and the rate would not be kept.
//
// Items must be copyable. `Hash` and `Eq` must be suitable for an
// `absl::flat_hash_set<T>` and default-constructible. If hashing, comparing,
// copying or allocating throws, nothing changes.
//
// Thread-safe. Every operation takes constant time on average, and blocks for
// nothing but the mutexes of the limiter and the bucket. Memory is proportional
// to the items that wait for a token. Later calls free it in the order in which
// the items came: after a `TokenBucket::SetLimit()`, an item that still waits
// holds up those that came later.
//
// Example:
//
//     auto bucket = workqueue::TokenBucket::Create(/*rate=*/10, /*burst=*/100);
//     if (!bucket.ok()) return bucket.status();
//     auto limiter = workqueue::BucketRateLimiter<std::string>::Create(
//         *std::move(bucket));
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // zero for the first hundred calls
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class BucketRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that takes its tokens from `bucket` and shares its
  // ownership.
  //
  // Returns an `absl::InvalidArgumentError` if `bucket` is null.
  static absl::StatusOr<std::unique_ptr<BucketRateLimiter>> Create(
      std::shared_ptr<TokenBucket> bucket) {
    if (bucket == nullptr) {
      return absl::InvalidArgumentError("bucket is null; it must be given");
    }
    return absl::WrapUnique(new BucketRateLimiter(std::move(bucket)));
  }

  // Returns the time until the token of `item` comes. If `item` waits for none,
  // takes one first; the time is zero if it is there. If the token would never
  // come, takes none and returns `absl::InfiniteDuration()`. This happens if
  // the bucket is empty and its rate is zero, or if the wait would be 2^63 ns
  // (292 years) or longer.
  absl::Duration When(const T& item) override {
    return WhenUpTo(item, absl::InfiniteDuration());
  }

  // Does the same, but takes no token that comes later than `max` from now.
  absl::Duration WhenUpTo(const T& item, absl::Duration max) override;

  // Does nothing to `item`, which may still wait for its token.
  void Forget(const T&) override {
    if (num_waiting_ == 0) return;
    internal::MutexLock lock(&mu_);
    DropSome();
  }

  // Returns zero.
  int NumRequeues(const T&) override { return 0; }

  // Returns `absl::InfiniteDuration()`: a token may never come.
  absl::Duration MaxDelay() const override { return absl::InfiniteDuration(); }

 private:
  explicit BucketRateLimiter(std::shared_ptr<TokenBucket> bucket)
      : bucket_(std::move(bucket)) {}

  // Drops a few items whose tokens have come.
  void DropSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    constexpr int kSome = 2;  // more than a call adds
    for (int i = 0; i < kSome && waiting_.size() > 0; ++i) {
      if (waiting_.Oldest().Delay() > absl::ZeroDuration()) break;
      waiting_.EraseOldest();
    }
    num_waiting_ = waiting_.size();
  }

  const std::shared_ptr<TokenBucket> bucket_;

  sync::Mutex mu_;
  // The items that wait for their tokens, in the order in which these come. The
  // bound is only there because a map without one has no order.
  internal::LruMap<T, Reservation, Hash, Eq> waiting_ ABSL_GUARDED_BY(mu_){
      size_t{1} << 31};
  sync::Atomic<size_t> num_waiting_{0};  // of waiting_; written under mu_
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
absl::Duration BucketRateLimiter<T, Hash, Eq>::WhenUpTo(const T& item,
                                                        absl::Duration max) {
  const size_t hash = Hash()(item);
  internal::MutexLock lock(&mu_);
  DropSome();
  Reservation* const earlier = waiting_.Find(item, hash);
  if (earlier != nullptr) {
    const absl::Duration delay = bucket_->Hasten(earlier);
    if (delay > absl::ZeroDuration()) return (std::min)(delay, max);
  }
  Reservation reservation = bucket_->Reserve(1, max);
  if (!reservation.ok()) return max;
  const absl::Duration delay = reservation.Delay();
  if (delay == absl::ZeroDuration()) return delay;
  absl::Cleanup give_back = [&reservation] { reservation.Cancel(); };
  waiting_.Update(item, hash, [&](Reservation& it) {
    std::move(give_back).Cancel();
    it = std::move(reservation);
  });
  num_waiting_ = waiting_.size();
  return delay;
}

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_BUCKET_RATE_LIMITER_H_
