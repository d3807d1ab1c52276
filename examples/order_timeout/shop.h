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

// An order, by its number, and the time at which something happened to it.
struct Entry {
  absl::Time time;
  size_t order;
};

// The record of a shop's actions, in the order of their times.
struct Books {
  std::vector<Entry> paid;
  std::vector<Entry> cancelled;
  std::vector<Entry> paid_too_late;  // payments of cancelled orders
};

// Shop
//
// This class cancels an order 30 minutes after it was placed, or 30 minutes
// after the customer asked for more time, unless the order has been paid by
// then.
//
// A `DelayQueue` holds the orders that can be paid. An order leaves the queue
// in one of two ways: a payment removes the order by `Cancel()`, or the shop's
// thread takes the order when it is due. The queue ensures that only one of the
// two happens. So the shop needs no lock of its own.
//
// Only one thread at a time may call `Place()`, `AskForTime()` and `Pay()`.
//
// Example:
//
//     Books books;
//     {
//       Shop shop(options, &books);
//       shop.Place(0);
//       shop.Pay(0);
//     }
//     // books.paid has order 0.
class Shop {
 public:
  // Uses the clock of `options`. Appends to `*books`. Not owned; the caller
  // must read `*books` only after the shop has been destroyed.
  Shop(const workqueue::DelayQueueOptions& options, Books* books)
      : clock_(options.clock.clock()),
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
  // The last member, because the thread uses the other members.
  std::thread cancelling_;
};

}  // namespace order_timeout

#endif  // WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_SHOP_H_
