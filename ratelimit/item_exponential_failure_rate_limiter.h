// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_ITEM_EXPONENTIAL_FAILURE_RATE_LIMITER_H_
#define WORKQUEUE_RATELIMIT_ITEM_EXPONENTIAL_FAILURE_RATE_LIMITER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

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

// ItemExponentialFailureRateLimiter
//
// This class doubles an item's delay with each failure of that item:
// `base_delay` after the first failure, twice as much after the second, and so
// on up to `max_delay`. Failures of other items have no effect. The algorithm
// is that of client-go's limiter of the same name.
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
// longest ago. An evicted item is treated like a forgotten one: its delays
// start again at `base_delay`, and its `NumRequeues()` starts again at zero.
// Callers that give up after a number of requeues must take this into account.
//
// Reason for this choice: an item that is still retried fails again within
// `max_delay` plus the time that it waits for a worker and is processed. An
// item without a failure for longer than that has most likely been dropped
// without a `Forget()`. The limiter does not evict the item with the fewest
// failures. Otherwise a dropped item with many failures would stay
// indefinitely, and items with few failures would never reach longer delays.
//
// An item is not evicted as long as fewer than `max_tracked_items` other items
// fail between two of its failures. So the bound should be at least the number
// of items that may be failing at the same time. In an outage these may be all
// items. Memory is allocated only for items that are tracked. If more items
// than the bound fail in turn, each evicts the next, and all of them are
// retried after `base_delay`. To limit the rate of such retries, combine this
// limiter with a `BucketRateLimiter` in a `MaxOfRateLimiter`.
//
// Thread-safe.
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
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class ItemExponentialFailureRateLimiter final : public RateLimiter<T> {
 public:
  // Returns a new limiter that tracks no item. Both delays are rounded down to
  // whole nanoseconds. If `base_delay` is zero, every delay is zero.
  //
  // The limiter tracks at most `max_tracked_items` items at a time, by default
  // any number.
  //
  // Returns an `absl::InvalidArgumentError` if a delay is negative or infinite,
  // if `base_delay` exceeds `max_delay`, or if `max_tracked_items` is zero.
  static absl::StatusOr<std::unique_ptr<ItemExponentialFailureRateLimiter>>
  Create(absl::Duration base_delay, absl::Duration max_delay,
         size_t max_tracked_items = kUnboundedItems) {
    absl::Status status =
        internal::CheckFiniteAndNotNegative("base_delay", base_delay);
    status.Update(internal::CheckFiniteAndNotNegative("max_delay", max_delay));
    status.Update(internal::CheckMaxTrackedItems(max_tracked_items));
    if (!status.ok()) return status;
    if (base_delay > max_delay) {
      return absl::InvalidArgumentError(
          absl::StrCat("base_delay is ", absl::FormatDuration(base_delay),
                       "; it must not exceed max_delay, which is ",
                       absl::FormatDuration(max_delay)));
    }
    return absl::WrapUnique(new ItemExponentialFailureRateLimiter(
        base_delay, max_delay, max_tracked_items));
  }

  // Counts a failure of `item`. Returns the smaller of `base_delay` * 2^n and
  // `max_delay`, where n is the number of earlier failures.
  absl::Duration When(const T& item) override {
    return internal::ExponentialDelay(base_delay_, max_delay_,
                                      failures_.Increment(item));
  }

  void Forget(const T& item) override { failures_.Erase(item); }

  int NumRequeues(const T& item) override { return failures_.Get(item); }

  std::optional<size_t> NumTracked() override { return failures_.size(); }

  // Returns `max_delay`, even if `base_delay` is zero.
  absl::Duration MaxDelay() const override { return max_delay_; }

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
