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

// The actions of one customer. The day begins at `absl::UnixEpoch()`.
struct Order {
  absl::Time placed;
  absl::Time asks_for_time = absl::InfiniteFuture();  // infinite if never
  absl::Time pays = absl::InfiniteFuture();           // infinite if never
};

// Makes `n` random orders of 24 hours. The same seed makes the same orders.
std::vector<Order> MakeOrders(int n, uint32_t seed);

// Moves `clock` through a day of a shop, until every order is paid or
// cancelled. Returns the shop's books.
Books LiveThrough(const std::vector<Order>& orders,
                  workqueue::FakeClock& clock);

// Returns a description of each difference between `books` and the correct
// outcome. Returns an empty list if there is none.
std::vector<std::string> Differences(const std::vector<Order>& orders,
                                     const Books& books);

}  // namespace order_timeout

#endif  // WORKQUEUE_EXAMPLES_ORDER_TIMEOUT_DAY_H_
