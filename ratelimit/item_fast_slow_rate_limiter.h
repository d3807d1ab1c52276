// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/internal/failure_counts.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/base/check_duration.h"

namespace workqueue {

// ItemFastSlowRateLimiter
//
// This class gives an item some quick retries and then slow ones. The delay is
// `fast_delay` for the item's first `max_fast_attempts` failures and
// `slow_delay` for all later failures. Failures of other items have no effect.
// The algorithm is that of client-go's limiter of the same name.
//
// The limiter tracks each item from its first failure until `Forget()`. Items
// must be copyable. `Hash` and `Eq` must be suitable for an
// `absl::flat_hash_set<T>` and default-constructible. If hashing, comparing,
// copying or allocating throws, nothing changes. Every operation takes constant
// time on average and blocks for nothing but the limiter's mutex.
//
// An item that is never forgotten is tracked indefinitely, unless
// `max_tracked_items` bounds the number of tracked items. If one more item
// fails at the bound, the limiter evicts the item whose last `When()` is
// longest ago. An evicted item is treated like a forgotten one: it gets its
// quick retries again, and its `NumRequeues()` starts again at zero. Callers
// that give up after a number of requeues must take this into account.
//
// `ItemExponentialFailureRateLimiter` has the reason for this choice, and
// explains how to choose the bound. If more items than the bound fail in turn,
// each evicts the next, and none of them ever becomes slow.
//
// Thread-safe.
//
// Example:
//
//     auto limiter = workqueue::ItemFastSlowRateLimiter<std::string>::Create(
//         absl::Milliseconds(5), absl::Seconds(10), /*max_fast_attempts=*/2);
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // 5 ms
//     (*limiter)->When("pod");    // 5 ms
//     (*limiter)->When("pod");    // 10 s
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class ItemFastSlowRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that tracks no item. If `max_fast_attempts` is zero,
  // every delay is `slow_delay`. `fast_delay` may be longer than `slow_delay`.
  //
  // The limiter tracks at most `max_tracked_items` items at a time, by default
  // any number.
  //
  // Returns an `absl::InvalidArgumentError` if a delay is negative or infinite,
  // if `max_fast_attempts` is negative, or if `max_tracked_items` is zero.
  static absl::StatusOr<std::unique_ptr<ItemFastSlowRateLimiter>> Create(
      absl::Duration fast_delay, absl::Duration slow_delay,
      int max_fast_attempts, size_t max_tracked_items = kUnboundedItems) {
    absl::Status status =
        internal::CheckFiniteAndNotNegative("fast_delay", fast_delay);
    status.Update(
        internal::CheckFiniteAndNotNegative("slow_delay", slow_delay));
    if (!status.ok()) return status;
    if (max_fast_attempts < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_fast_attempts is ", max_fast_attempts,
                       "; it must not be negative"));
    }
    status = internal::CheckMaxTrackedItems(max_tracked_items);
    if (!status.ok()) return status;
    return absl::WrapUnique(new ItemFastSlowRateLimiter(
        fast_delay, slow_delay, max_fast_attempts, max_tracked_items));
  }

  // Counts a failure of `item`. Returns `fast_delay` if there were fewer than
  // `max_fast_attempts` earlier failures, and `slow_delay` otherwise.
  absl::Duration When(const T& item) override {
    return failures_.Increment(item) < max_fast_attempts_ ? fast_delay_
                                                          : slow_delay_;
  }

  void Forget(const T& item) override { failures_.Erase(item); }

  int NumRequeues(const T& item) override { return failures_.Get(item); }

  std::optional<size_t> NumTracked() override { return failures_.size(); }

  // Returns the longer of the two delays.
  absl::Duration MaxDelay() const override {
    return (std::max)(fast_delay_, slow_delay_);
  }

 private:
  ItemFastSlowRateLimiter(absl::Duration fast_delay, absl::Duration slow_delay,
                          int max_fast_attempts, size_t max_tracked_items)
      : fast_delay_(fast_delay),
        slow_delay_(slow_delay),
        max_fast_attempts_(max_fast_attempts),
        failures_(max_tracked_items) {}

  const absl::Duration fast_delay_;
  const absl::Duration slow_delay_;
  const int max_fast_attempts_;
  internal::FailureCounts<T, Hash, Eq> failures_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_
