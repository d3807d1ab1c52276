// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/item_exponential_failure_rate_limiter.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_ITEM_EXPONENTIAL_FAILURE_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_ITEM_EXPONENTIAL_FAILURE_RATE_LIMITER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ratelimit/internal/check_delay.h"
#include "ratelimit/internal/check_max_tracked_items.h"
#include "ratelimit/internal/exponential_delay.h"
#include "ratelimit/internal/failure_counts.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/unbounded_items.h"

namespace workqueue {

// ItemExponentialFailureRateLimiter
//
// Doubles an item's delay with each of its failures: `base_delay` after the
// first, twice that after the second, and so on up to `max_delay`. Other items'
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
// been forgotten: its delays start again at `base_delay`, and its
// `NumRequeues()`, by which some callers give up, at zero.
//
// Why that one: an item that is still retried fails again within `max_delay`
// and the time that it then waits for a worker and is worked on. One that has
// been quiet for longer has most likely been dropped without a `Forget()`. (Not
// the one with the fewest failures: a dropped item that had many would stay for
// ever, and items new to failing would never get to longer delays.)
//
// So an item loses nothing as long as fewer than `max_tracked_items` others
// fail between two failures of its own. Make the bound no less than the number
// of items that may be failing at the same time, which in an outage may be all;
// memory is taken only as items come. If more than that fail in turn, each
// evicts the next, and all of them are retried after `base_delay`. A
// `BucketRateLimiter` beside this one, in a `MaxOfRateLimiter`, limits what
// that can do.
//
// Example:
//
//     auto limiter = workqueue::ItemExponentialFailureRateLimiter<
//         std::string>::Create(absl::Milliseconds(5), absl::Seconds(1000));
//     if (!limiter.ok()) return limiter.status();
//     (*limiter)->When("pod");    // 5 ms
//     (*limiter)->When("pod");    // 10 ms
//     (*limiter)->Forget("pod");
//     (*limiter)->When("pod");    // 5 ms
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class ItemExponentialFailureRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that tracks no item. The delays are rounded down to
  // whole nanoseconds. If `max_delay` is less than `base_delay`, every delay is
  // `max_delay`; if `base_delay` is zero, every delay is zero.
  //
  // It tracks at most `max_tracked_items` at a time; any number by default.
  //
  // Returns an `absl::InvalidArgumentError` if a delay is negative or infinite,
  // or if `max_tracked_items` is zero.
  static absl::StatusOr<std::unique_ptr<ItemExponentialFailureRateLimiter>>
  Create(absl::Duration base_delay, absl::Duration max_delay,
         size_t max_tracked_items = kUnboundedItems) {
    absl::Status status = internal::CheckDelay("base_delay", base_delay);
    status.Update(internal::CheckDelay("max_delay", max_delay));
    status.Update(internal::CheckMaxTrackedItems(max_tracked_items));
    if (!status.ok()) return status;
    return absl::WrapUnique(new ItemExponentialFailureRateLimiter(
        base_delay, max_delay, max_tracked_items));
  }

  // Counts a failure of `item` and returns `base_delay` * 2^n, where n is the
  // number of failures before, or `max_delay` if that is less.
  absl::Duration When(const T& item) override {
    return internal::ExponentialDelay(base_delay_, max_delay_,
                                      failures_.Increment(item));
  }

  void Forget(const T& item) override { failures_.Erase(item); }

  int NumRequeues(const T& item) override { return failures_.Get(item); }

 private:
  ItemExponentialFailureRateLimiter(absl::Duration base_delay,
                                    absl::Duration max_delay,
                                    size_t max_tracked_items)
      : base_delay_(absl::Trunc(base_delay, absl::Nanoseconds(1))),
        max_delay_(absl::Trunc(max_delay, absl::Nanoseconds(1))),
        failures_(max_tracked_items) {}

  const absl::Duration base_delay_;
  const absl::Duration max_delay_;
  internal::FailureCounts<T, Hash, Eq> failures_;
};

// Instantiated in item_exponential_failure_rate_limiter.cc.
extern template class ItemExponentialFailureRateLimiter<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_ITEM_EXPONENTIAL_FAILURE_RATE_LIMITER_H_
