// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATE_LIMITING_QUEUE_H_
#define WORKQUEUE_RATE_LIMITING_QUEUE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/rate_limiter.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/internal/snapshot_order.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/metrics.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// RateLimitingQueueOptions
//
// Options of a `RateLimitingQueue`. Every field has a usable default. The
// options of `DelayingQueueOptions` apply to all layers.
template <typename T>
struct RateLimitingQueueOptions : DelayingQueueOptions<T> {
  // Chooses the delays of `AddRateLimited()`; null means
  // `DefaultControllerRateLimiter()` on the queue's clock.
  std::unique_ptr<RateLimiter<T>> rate_limiter;
};

// RateLimitingQueue
//
// A queue that can also add an item as soon as a rate limiter permits it.
// `RateLimitingInterface` has its promises. It is the top of the three layers:
// it owns a delaying queue, and forwards to it every call that has nothing to
// do with the rate limiter.
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
// Remember to call `Forget()`: the rate limiter remembers an item that failed
// until then.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class RateLimitingQueue
    : public internal::ForwardingQueue<T, RateLimitingInterface<T>,
                                       DelayingInterface<T>> {
 public:
  // A queue on a `DelayingQueue`, which it makes.
  explicit RateLimitingQueue(RateLimitingQueueOptions<T> options = {})
      : RateLimitingQueue(Layers(std::move(options))) {}

  // Returns a queue on `delaying_queue`. `rate_limiter` chooses the delays of
  // `AddRateLimited()`.
  //
  // Returns `absl::InvalidArgumentError` if one of them is null.
  static absl::StatusOr<std::unique_ptr<RateLimitingQueue>> Create(
      std::unique_ptr<DelayingInterface<T>> delaying_queue,
      std::unique_ptr<RateLimiter<T>> rate_limiter) {
    if (delaying_queue == nullptr) {
      return absl::InvalidArgumentError(
          "delaying_queue is null; the layer above needs a queue");
    }
    if (rate_limiter == nullptr) {
      return absl::InvalidArgumentError(
          "rate_limiter is null; a rate limiting queue needs one");
    }
    return absl::WrapUnique(new RateLimitingQueue(
        Layers(std::move(delaying_queue), std::move(rate_limiter))));
  }

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    return ABSL_PREDICT_FALSE(options.rate_limited)
               ? AddLimited(options, items)
               : this->below().AddItems(options, items);
  }

  absl::StatusOr<bool> CancelWait(const T& item) override {
    return this->below().CancelWait(item);
  }

  absl::Status ForgetFailures(const T& item) override {
    rate_limiter_->Forget(item);
    return absl::OkStatus();
  }

  absl::StatusOr<int> CountFailures(const T& item) const override {
    return rate_limiter_->NumRequeues(item);
  }

  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    absl::StatusOr<Snapshot<T>> snapshot = Base::TakeSnapshotWith(options);
    if (snapshot.ok()) internal::CountFailures(&*snapshot, *rate_limiter_);
    return snapshot;
  }

 private:
  using Base = internal::ForwardingQueue<T, RateLimitingInterface<T>,
                                         DelayingInterface<T>>;

  // The parts of a rate limiting queue.
  struct Layers {
    explicit Layers(RateLimitingQueueOptions<T> options)
        : rate_limiter(std::move(options.rate_limiter)) {
      if (rate_limiter == nullptr) {
        rate_limiter =
            DefaultControllerRateLimiter<T, Hash, Eq>(options.clock.clock());
      }
      // The layers share a thread.
      const std::shared_ptr<WaitingLoop> loop =
          options.clock.LoopOrNew(options.name);
      options.clock = loop;
      failing_gauge = internal::SampleGauge(
          options.name, options.metrics_provider,
          &MetricsProvider::NewFailingItemsMetric, options.log_sink, loop,
          [limiter = rate_limiter.get()] { return limiter->NumTracked(); });
      delaying_queue =
          std::make_unique<DelayingQueue<T, Hash, Eq>>(std::move(options));
    }

    Layers(std::unique_ptr<DelayingInterface<T>> below,
           std::unique_ptr<RateLimiter<T>> limiter)
        : rate_limiter(std::move(limiter)), delaying_queue(std::move(below)) {}

    std::unique_ptr<RateLimiter<T>> rate_limiter;
    std::unique_ptr<internal::Ticker> failing_gauge;
    std::unique_ptr<DelayingInterface<T>> delaying_queue;
  };

  // Not inline, so that other additions do not pay for it.
  ABSL_ATTRIBUTE_NOINLINE absl::Status AddLimited(const AddOptions& options,
                                                  absl::Span<const T> items) {
    absl::Status status = CheckAddOptions(options, AddSupport::kRateLimited);
    if (!status.ok()) return status;
    AddOptions delayed = options;
    delayed.rate_limited = false;
    delayed.retry = true;
    for (const T& item : items) {
      delayed.after = internal::LimitedDelay(*rate_limiter_, item, options);
      status.Update(this->below().AddItems(delayed, this->One(item)));
    }
    return status;
  }

  explicit RateLimitingQueue(Layers layers)
      : Base(std::move(layers.delaying_queue)),
        rate_limiter_(std::move(layers.rate_limiter)),
        failing_gauge_(std::move(layers.failing_gauge)) {}

  const std::unique_ptr<RateLimiter<T>> rate_limiter_;
  const std::unique_ptr<internal::Ticker> failing_gauge_;  // may be null
};

// Instantiated in string_queues.cc.
extern template class RateLimitingQueue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_RATE_LIMITING_QUEUE_H_
