// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "examples/order_timeout/day.h"
#include "examples/order_timeout/shop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"

namespace order_timeout::order_timeout_day_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

absl::Time At(double minutes) {
  return absl::UnixEpoch() + absl::Minutes(minutes);
}

auto EntryIs(double minutes, size_t order) {
  return AllOf(Field("time", &Entry::time, At(minutes)),
               Field("order", &Entry::order, order));
}

Books LiveThrough(const std::vector<Order>& orders) {
  workqueue::FakeClock clock;
  return LiveThrough(orders, clock);
}

TEST(DayTest, OrderIsPaidOrCancelled) {
  std::vector<Order> orders(4);
  orders[0] = {At(0)};
  orders[1].placed = orders[2].placed = orders[3].placed = At(1);
  orders[1].pays = At(30.5);
  orders[2].pays = At(31);  // after the time to pay
  orders[3].pays = At(32);
  const Books books = LiveThrough(orders);
  EXPECT_THAT(books.paid, ElementsAre(EntryIs(30.5, 1)));
  EXPECT_THAT(books.cancelled,
              ElementsAre(EntryIs(30, 0), EntryIs(31, 2), EntryIs(31, 3)));
  EXPECT_THAT(books.paid_too_late, ElementsAre(EntryIs(31, 2), EntryIs(32, 3)));
  EXPECT_THAT(Differences(orders, books), IsEmpty());
}

TEST(DayTest, MoreTimeIsGrantedOnlyInTime) {
  std::vector<Order> orders(4);
  for (Order& order : orders) order.placed = At(0);
  orders[0].asks_for_time = orders[1].asks_for_time = At(29);
  orders[1].pays = At(58.5);
  orders[2].asks_for_time = At(30);
  orders[2].pays = At(31);
  orders[3].pays = At(1);
  orders[3].asks_for_time = At(2);
  const Books books = LiveThrough(orders);
  EXPECT_THAT(books.paid, ElementsAre(EntryIs(1, 3), EntryIs(58.5, 1)));
  EXPECT_THAT(books.cancelled, ElementsAre(EntryIs(30, 2), EntryIs(59, 0)));
  EXPECT_THAT(books.paid_too_late, ElementsAre(EntryIs(31, 2)));
  EXPECT_THAT(Differences(orders, books), IsEmpty());
}

TEST(DayTest, NothingIsMissedWhenLittleHappens) {
  std::vector<Order> orders(20);
  for (size_t i = 0; i < orders.size(); ++i) orders[i].placed = At(60 * i);
  EXPECT_THAT(Differences(orders, LiveThrough(orders)), IsEmpty());
}

class MadeUpDayTest : public ::testing::TestWithParam<int> {
 protected:
  const std::vector<Order> orders_ = MakeOrders(3000, GetParam());
};

INSTANTIATE_TEST_SUITE_P(Seeds, MadeUpDayTest, ::testing::Range(1, 6));

TEST_P(MadeUpDayTest, IsExact) {
  workqueue::FakeClock clock;
  const Books books = LiveThrough(orders_, clock);
  EXPECT_THAT(Differences(orders_, books), IsEmpty());
  EXPECT_GT(clock.TimeNow(), absl::UnixEpoch() + absl::Hours(24));
  EXPECT_EQ(books.paid.size() + books.cancelled.size(), orders_.size());
  EXPECT_GT(books.paid.size(), orders_.size() / 4);
  EXPECT_GT(books.cancelled.size(), orders_.size() / 4);
  EXPECT_GT(books.paid_too_late.size(), orders_.size() / 10);
}

TEST_P(MadeUpDayTest, IsReproducible) {
  const Books books = LiveThrough(orders_);
  const Books again = LiveThrough(MakeOrders(3000, GetParam()));
  ASSERT_EQ(books.cancelled.size(), again.cancelled.size());
  for (size_t i = 0; i < books.cancelled.size(); ++i) {
    EXPECT_EQ(books.cancelled[i].order, again.cancelled[i].order);
  }
}

class DifferencesTest : public ::testing::Test {
 protected:
  DifferencesTest() {
    for (Order& order : orders_) order.placed = At(0);
    orders_[1].placed = At(1);
    orders_[2].pays = At(2);
    orders_[3].pays = At(33);
    books_ = LiveThrough(orders_);
    EXPECT_THAT(Differences(orders_, books_), IsEmpty());
  }

  std::vector<Order> orders_ = std::vector<Order>(4);
  Books books_;
};

TEST_F(DifferencesTest, TamperedOrder) {
  orders_[0].pays = At(29);
  orders_[3].placed = At(1);
  EXPECT_THAT(
      Differences(orders_, books_),
      ElementsAre("order 0: expected paid at 29m; found cancelled at 30m",
                  "order 3: expected cancelled at 31m paid too late at 33m; "
                  "found cancelled at 30m paid too late at 33m"));
}

TEST_F(DifferencesTest, CancelledTooLate) {
  books_.cancelled[2].time += absl::Nanoseconds(1);
  EXPECT_THAT(Differences(orders_, books_),
              ElementsAre("order 1: expected cancelled at 31m; found cancelled "
                          "at 31m0.000000001s"));
}

TEST_F(DifferencesTest, CancelledTwice) {
  books_.cancelled.push_back(books_.cancelled.back());
  EXPECT_THAT(Differences(orders_, books_),
              ElementsAre("order 1: expected cancelled at 31m; found cancelled "
                          "at 31m cancelled at 31m"));
}

TEST_F(DifferencesTest, PaidAndCancelled) {
  books_.cancelled.push_back({At(32), 2});
  EXPECT_THAT(Differences(orders_, books_),
              ElementsAre("order 2: expected paid at 2m; found paid at 2m "
                          "cancelled at 32m"));
}

TEST_F(DifferencesTest, Forgotten) {
  books_.cancelled.pop_back();
  books_.paid_too_late.clear();
  EXPECT_THAT(Differences(orders_, books_),
              ElementsAre("order 1: expected cancelled at 31m; found",
                          "order 3: expected cancelled at 30m paid too late at "
                          "33m; found cancelled at 30m"));
}

TEST_F(DifferencesTest, OutOfOrder) {
  std::swap(books_.cancelled[0], books_.cancelled[2]);
  EXPECT_THAT(Differences(orders_, books_),
              ElementsAre("order 3: recorded after a later event"));
}

}  // namespace
}  // namespace order_timeout::order_timeout_day_test
