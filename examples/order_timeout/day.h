// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/order_timeout/day.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_DAY_H_
#define WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_DAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "examples/order_timeout/shop.h"
#include "workqueue/clock/fake_clock.h"

namespace order_timeout {

// What a customer does. The day begins at `absl::UnixEpoch()`.
struct Order {
  absl::Time placed;
  absl::Time asks_for_time = absl::InfiniteFuture();  // if ever
  absl::Time pays = absl::InfiniteFuture();           // if ever
};

// Makes up the orders of 24 hours. Of the same seed it makes the same ones.
std::vector<Order> MakeOrders(int n, uint32_t seed);

// Moves `clock` through the day of a shop, until each order is paid or
// cancelled.
Books LiveThrough(const std::vector<Order>& orders,
                  workqueue::FakeClock& clock);

// Returns in what `books` differ from what they should be, in words; nothing if
// they are exact.
std::vector<std::string> Differences(const std::vector<Order>& orders,
                                     const Books& books);

}  // namespace order_timeout

#endif  // WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_DAY_H_
