// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/rate_limiting_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATE_LIMITING_QUEUE_H_
#define WORKQUEUE_RATE_LIMITING_QUEUE_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue/forwarding_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// RateLimitingQueueOptions
//
// How a rate limiting queue is made. What it shares with `DelayingQueueOptions`
// goes for the queue below, too, if the rate limiting queue makes that.
template <typename T>
struct RateLimitingQueueOptions : DelayingQueueOptions<T> {
  // What chooses the delays of `AddRateLimited()`; null for
  // `workqueue::DefaultControllerRateLimiter()` on `clock`.
  std::unique_ptr<RateLimiter<T>> rate_limiter;

  // The queue below; null for a `DelayingQueue`. With one given, the other
  // options but `rate_limiter` and `clock` go unused.
  std::unique_ptr<DelayingInterface<T>> delaying_queue;
};

// RateLimitingQueue
//
// A queue that can also add an item as soon as a rate limiter says that it may
// be: `RateLimitingInterface` has the promises. The top one of the three
// layers, and the one that most controllers use. All but its own three
// functions goes to the queue below.
//
// Example, the loop of a worker:
//
//     workqueue::RateLimitingQueue<std::string> queue;
//     while (std::optional<std::string> key = queue.Get()) {
//       if (Reconcile(*key).ok()) {
//         queue.Forget(*key);          // the next failure is its first
//       } else {
//         queue.AddRateLimited(*key);  // again, later each time
//       }
//       queue.Done(*key);
//     }
//
// Remember to call `Forget()`: an item that failed is tracked until then.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class RateLimitingQueue
    : public internal::ForwardingQueue<T, RateLimitingInterface<T>,
                                       DelayingInterface<T>> {
 public:
  explicit RateLimitingQueue(RateLimitingQueueOptions<T> options = {})
      : Base(Complete(options)),
        rate_limiter_(std::move(options.rate_limiter)) {}

  bool AddAfter(const T& item, absl::Duration delay) override {
    return this->below().AddAfter(item, delay);
  }

  bool CancelDelayed(const T& item) override {
    return this->below().CancelDelayed(item);
  }

  bool Reschedule(const T& item, absl::Duration delay) override {
    return this->below().Reschedule(item, delay);
  }

  bool AddRateLimited(const T& item) override {
    return this->below().AddAfter(item, rate_limiter_->When(item));
  }

  void Forget(const T& item) override { rate_limiter_->Forget(item); }

  int NumRequeues(const T& item) const override {
    return rate_limiter_->NumRequeues(item);
  }

  Snapshot<T> TakeSnapshot() override {
    Snapshot<T> snapshot = Base::TakeSnapshot();
    snapshot.CountFailures(*rate_limiter_);
    return snapshot;
  }

 private:
  using Base = internal::ForwardingQueue<T, RateLimitingInterface<T>,
                                         DelayingInterface<T>>;

  // Puts in what `options` leave open, and takes the queue below out of them.
  static std::unique_ptr<DelayingInterface<T>> Complete(
      RateLimitingQueueOptions<T>& options) {
    if (options.rate_limiter == nullptr) {
      options.rate_limiter =
          DefaultControllerRateLimiter<T, Hash, Eq>(OrRealClock(options.clock));
    }
    if (options.delaying_queue != nullptr) {
      return std::move(options.delaying_queue);
    }
    return std::make_unique<DelayingQueue<T, Hash, Eq>>(std::move(options));
  }

  const std::unique_ptr<RateLimiter<T>> rate_limiter_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATE_LIMITING_QUEUE_H_
