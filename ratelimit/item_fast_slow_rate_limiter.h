// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/item_fast_slow_rate_limiter.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_ITEM_FAST_SLOW_RATE_LIMITER_H_

#include <cstddef>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ratelimit/internal/check_delay.h"
#include "ratelimit/internal/check_max_tracked_items.h"
#include "ratelimit/internal/failure_counts.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/unbounded_items.h"

namespace workqueue {

// ItemFastSlowRateLimiter
//
// Gives an item a few quick retries and then slow ones: `fast_delay` for its
// first `max_fast_attempts` failures, `slow_delay` from then on. Other items'
// failures make no difference.
//
// Remembers each item that failed until it is forgotten. An item must be
// copyable; `Hash` and `Eq` are as for `absl::flat_hash_set`, and
// default-constructible. When one of them or the copying throws, nothing has
// changed. Every operation takes constant time on average.
//
// Items that nobody forgets stay for ever, unless `max_tracked_items` bounds
// their number. A further item then takes the place of the one whose last
// failure, its last `When()`, is longest ago. That one is evicted, as if it had
// been forgotten: it gets its quick retries again, and its `NumRequeues()`, by
// which some callers give up, starts at zero.
//
// Why that one: an item that is still retried fails again within the longer
// delay and the time that it then waits for a worker and is worked on. One that
// has been quiet for longer has most likely been dropped without a `Forget()`.
// (Not the one with the fewest failures: a dropped item that had many would
// stay for ever, and items new to failing would never get to be slow.)
//
// So an item loses nothing as long as fewer than `max_tracked_items` others
// fail between two failures of its own. Make the bound no less than the number
// of items that may be failing at the same time, which in an outage may be all;
// memory is taken only as items come. If more than that fail in turn, each
// evicts the next, and none of them ever becomes slow. A `BucketRateLimiter`
// beside this one, in a `MaxOfRateLimiter`, limits what that can do.
//
// Example:
//
//     auto limiter = workqueue::ItemFastSlowRateLimiter<std::string>::Create(
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
  // It tracks at most `max_tracked_items` at a time; any number by default.
  //
  // Returns an `absl::InvalidArgumentError` if a delay is negative or infinite,
  // if `max_fast_attempts` is negative, or if `max_tracked_items` is zero.
  static absl::StatusOr<std::unique_ptr<ItemFastSlowRateLimiter>> Create(
      absl::Duration fast_delay, absl::Duration slow_delay,
      int max_fast_attempts, size_t max_tracked_items = kUnboundedItems) {
    absl::Status status = internal::CheckDelay("fast_delay", fast_delay);
    status.Update(internal::CheckDelay("slow_delay", slow_delay));
    if (!status.ok()) return status;
    if (max_fast_attempts < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_fast_attempts must not be negative, but is ",
                       max_fast_attempts));
    }
    status = internal::CheckMaxTrackedItems(max_tracked_items);
    if (!status.ok()) return status;
    return absl::WrapUnique(new ItemFastSlowRateLimiter(
        fast_delay, slow_delay, max_fast_attempts, max_tracked_items));
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
