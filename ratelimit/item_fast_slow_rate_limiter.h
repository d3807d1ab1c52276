// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/item_fast_slow_rate_limiter.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_

#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/internal/check_delay.h"
#include "ratelimit/internal/failure_counts.h"
#include "ratelimit/rate_limiter.h"

namespace ratelimit {

// ItemFastSlowRateLimiter
//
// Gives an item a few quick retries and then slow ones: `fast_delay` for its
// first `max_fast_attempts` failures, `slow_delay` from then on. Other items'
// failures make no difference.
//
// Remembers each item that failed until it is forgotten. An item must be
// copyable; `Hash` and `Eq` are as for `absl::flat_hash_set`, and
// default-constructible. When one of them or the copying throws, nothing has
// changed.
//
// Example:
//
//     auto limiter = ratelimit::ItemFastSlowRateLimiter<std::string>::Create(
//         absl::Milliseconds(5), absl::Seconds(10), /*max_fast_attempts=*/2);
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // 5 ms
//     (*limiter)->When("pod");    // 5 ms
//     (*limiter)->When("pod");    // 10 s
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class ItemFastSlowRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that tracks no item. With `max_fast_attempts` of zero
  // every delay is `slow_delay`. Nothing requires that `fast_delay` be the
  // shorter one.
  //
  // Returns an `absl::InvalidArgumentError` if a delay is negative or infinite,
  // or if `max_fast_attempts` is negative.
  static absl::StatusOr<std::unique_ptr<ItemFastSlowRateLimiter>> Create(
      absl::Duration fast_delay, absl::Duration slow_delay,
      int max_fast_attempts) {
    absl::Status status = internal::CheckDelay("fast_delay", fast_delay);
    status.Update(internal::CheckDelay("slow_delay", slow_delay));
    if (!status.ok()) return status;
    if (max_fast_attempts < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_fast_attempts must not be negative, but is ",
                       max_fast_attempts));
    }
    return absl::WrapUnique(
        new ItemFastSlowRateLimiter(fast_delay, slow_delay, max_fast_attempts));
  }

  // Counts a failure of `item` and returns `fast_delay` if there were less than
  // `max_fast_attempts` before, `slow_delay` otherwise.
  absl::Duration When(const T& item) override {
    return failures_.Increment(item) < max_fast_attempts_ ? fast_delay_
                                                          : slow_delay_;
  }

  void Forget(const T& item) override { failures_.Erase(item); }

  int NumRequeues(const T& item) override { return failures_.Get(item); }

 private:
  ItemFastSlowRateLimiter(absl::Duration fast_delay, absl::Duration slow_delay,
                          int max_fast_attempts)
      : fast_delay_(fast_delay),
        slow_delay_(slow_delay),
        max_fast_attempts_(max_fast_attempts) {}

  const absl::Duration fast_delay_;
  const absl::Duration slow_delay_;
  const int max_fast_attempts_;
  internal::FailureCounts<T, Hash, Eq> failures_;
};

}  // namespace ratelimit

#endif  // WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_
