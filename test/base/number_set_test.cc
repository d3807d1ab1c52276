// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/number_set.h"

#include <cstddef>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace workqueue {
namespace internal::number_set_test {
namespace {

TEST(NumberSetTest, IsEmptyAtFirst) {
  NumberSet numbers;
  EXPECT_EQ(numbers.First(), NumberSet::kNone);
  numbers.Reserve(1000);
  EXPECT_EQ(numbers.First(), NumberSet::kNone);
}

TEST(NumberSetTest, TruncateRemovesTheNumbersFromALimitOn) {
  for (const size_t limit : {0, 1, 63, 64, 65, 128, 300, 1000}) {
    NumberSet numbers;
    numbers.Reserve(300);
    for (size_t number = 0; number < 300; ++number) numbers.Insert(number);
    numbers.Truncate(limit);
    numbers.Reserve(300);
    for (size_t number = 0; number < limit && number < 300; ++number) {
      ASSERT_EQ(numbers.First(), number);
      numbers.Erase(number);
    }
    ASSERT_EQ(numbers.First(), NumberSet::kNone) << limit;
  }
}

TEST(NumberSetTest, CanBeUsedAfterClear) {
  NumberSet numbers;
  numbers.Reserve(100);
  numbers.Insert(99);
  numbers.Clear();
  EXPECT_EQ(numbers.First(), NumberSet::kNone);
  numbers.Reserve(100);
  EXPECT_EQ(numbers.First(), NumberSet::kNone);
  numbers.Insert(98);
  EXPECT_EQ(numbers.First(), 98u);
}

TEST(NumberSetTest, BehavesLikeASet) {
  std::mt19937 random(1);
  NumberSet numbers;
  std::set<size_t> model;
  size_t limit = 0;
  for (int i = 0; i < 100000; ++i) {
    if (random() % 100 == 0) {
      limit = random() % 1000;
      numbers.Truncate(limit);
      numbers.Reserve(limit);
      model.erase(model.lower_bound(limit), model.end());
    }
    if (limit > 0) {
      const size_t number = random() % limit;
      if (random() % 2 == 0) {
        numbers.Insert(number);
        model.insert(number);
      } else {
        numbers.Erase(number);
        model.erase(number);
      }
    }
    ASSERT_EQ(numbers.First(),
              model.empty() ? NumberSet::kNone : *model.begin());
  }
}

}  // namespace
}  // namespace internal::number_set_test
}  // namespace workqueue
