// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/order_timeout/shop.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_SHOP_H_
#define WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_SHOP_H_

#include <cstddef>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/delay_queue.h"

namespace order_timeout {

constexpr absl::Duration kTimeToPay = absl::Minutes(30);

// What has happened to an order, which goes by a number, and when.
struct Entry {
  absl::Time time;
  size_t order;
};

// What a shop has done, as it happened.
struct Books {
  std::vector<Entry> paid;
  std::vector<Entry> cancelled;
  std::vector<Entry> paid_too_late;  // had been cancelled
};

// Shop
//
// Cancels an order 30 minutes after it was placed, or after the customer asked
// for more time, unless it has been paid by then.
//
// The orders that can be paid are in a `DelayQueue`. Whoever gets one out of it
// decides what becomes of it: a payment, by `Cancel()`, or the thread that
// takes what comes due. The queue gives it to one of them only, so that nothing
// else need be locked.
//
// `Place()`, `AskForTime()` and `Pay()` are to be called by one thread.
class Shop {
 public:
  // Goes by the clock of `options`. Writes to `books`, which are not owned, and
  // can be read when the shop has been destroyed.
  Shop(const workqueue::DelayQueueOptions& options, Books* books)
      : clock_(workqueue::OrRealClock(options.clock)),
        books_(books),
        unpaid_(options),
        cancelling_([this] {
          for (size_t order : unpaid_.Stream()) {
            books_->cancelled.push_back({clock_->TimeNow(), order});
          }
        }) {}

  ~Shop() {
    unpaid_.ShutDown();
    cancelling_.join();
  }

  void Place(size_t order) {
    timeouts_[order] = unpaid_.Push(order, kTimeToPay);
  }

  void AskForTime(size_t order) { unpaid_.Reset(timeouts_[order], kTimeToPay); }

  void Pay(size_t order) {
    const bool in_time = unpaid_.Cancel(timeouts_[order]);
    (in_time ? books_->paid : books_->paid_too_late)
        .push_back({clock_->TimeNow(), order});
  }

 private:
  workqueue::Clock* const clock_;
  Books* const books_;
  workqueue::DelayQueue<size_t> unpaid_;
  absl::flat_hash_map<size_t, workqueue::DelayQueueHandle> timeouts_;
  std::thread cancelling_;  // the last one, as it uses the others
};

}  // namespace order_timeout

#endif  // WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_SHOP_H_
