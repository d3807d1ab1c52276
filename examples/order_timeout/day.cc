// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/order_timeout/day.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/order_timeout/shop.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/delay_queue.h"

namespace order_timeout {
namespace {

struct Event {
  absl::Time time;
  void (Shop::*what)(size_t order);
  size_t order;
};

std::vector<Event> EventsOf(const std::vector<Order>& orders) {
  std::vector<Event> events;
  const auto add = [&events](const Event& event) {
    if (event.time < absl::InfiniteFuture()) events.push_back(event);
  };
  for (size_t i = 0; i < orders.size(); ++i) {
    add({orders[i].placed, &Shop::Place, i});
    add({orders[i].asks_for_time, &Shop::AskForTime, i});
    add({orders[i].pays, &Shop::Pay, i});
  }
  std::stable_sort(
      events.begin(), events.end(),
      [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

// Moves the clock to `time`, and stops at each time that the shop's thread
// waits for.
//
// SetTime() wakes the shop's thread but does not wait until the thread acts.
// When the thread waits on the clock again, it has cancelled every order that
// was due. So this function and the thread take turns. An order is cancelled at
// its own time, and before any other event of that time.
void MoveTo(absl::Time time, workqueue::FakeClock& clock) {
  clock.AwaitWaiters(1);
  while (clock.TimeNow() < time) {
    clock.SetTime(std::min(time, clock.GetEarliestWakeupTime()));
    clock.AwaitWaiters(1);
  }
}

std::string Tell(absl::string_view what, absl::Time time) {
  return absl::StrCat(" ", what, " at ",
                      absl::FormatDuration(time - absl::UnixEpoch()));
}

// Returns the correct outcome of the order, computed without a queue.
std::string Expected(const Order& order) {
  absl::Time due = order.placed + kTimeToPay;
  if (order.asks_for_time < due) due = order.asks_for_time + kTimeToPay;
  if (order.pays < due) return Tell("paid", order.pays);
  std::string expected = Tell("cancelled", due);
  if (order.pays < absl::InfiniteFuture()) {
    expected += Tell("paid too late", order.pays);
  }
  return expected;
}

}  // namespace

std::vector<Order> MakeOrders(int n, uint32_t seed) {
  std::mt19937 random(seed);
  // Whole seconds make some events happen at the same time.
  const auto within = [&random](absl::Duration d) {
    return absl::Seconds(random() % absl::ToInt64Seconds(d));
  };
  std::vector<Order> orders(n);
  for (Order& order : orders) {
    order.placed = absl::UnixEpoch() + within(absl::Hours(24));
    if (random() % 20 == 0) {
      order.asks_for_time = order.placed + within(absl::Minutes(40));
    }
    if (random() % 5 != 0) {
      order.pays = order.placed + within(absl::Minutes(45));
    }
  }
  return orders;
}

Books LiveThrough(const std::vector<Order>& orders,
                  workqueue::FakeClock& clock) {
  workqueue::DelayQueueOptions options;
  options.clock = &clock;
  Books books;
  {
    Shop shop(options, &books);
    for (const Event& event : EventsOf(orders)) {
      MoveTo(event.time, clock);
      (shop.*event.what)(event.order);
    }
    MoveTo(clock.TimeNow() + kTimeToPay, clock);
  }
  return books;
}

std::vector<std::string> Differences(const std::vector<Order>& orders,
                                     const Books& books) {
  std::vector<std::string> differences;
  std::vector<std::string> actual(orders.size());
  const auto read = [&](absl::string_view what, const std::vector<Entry>& all) {
    absl::Time last = absl::InfinitePast();
    for (const Entry& entry : all) {
      actual[entry.order] += Tell(what, entry.time);
      if (entry.time < last) {
        differences.push_back(absl::StrCat("order ", entry.order,
                                           ": recorded after a later event"));
      }
      last = entry.time;
    }
  };
  read("paid", books.paid);
  read("cancelled", books.cancelled);
  read("paid too late", books.paid_too_late);
  for (size_t i = 0; i < orders.size(); ++i) {
    const std::string expected = Expected(orders[i]);
    if (actual[i] != expected) {
      differences.push_back(absl::StrCat("order ", i, ": expected", expected,
                                         "; found", actual[i]));
    }
  }
  return differences;
}

}  // namespace order_timeout
