// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/item_recycler.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/internal/counted_heap.h"

namespace workqueue {
namespace internal {
namespace {

using ::workqueue::CountedHeap;

// Returns a copy of `item` that uses a string from `spares`.
std::string Copy(ItemRecycler<std::string>& spares, const std::string& item) {
  return spares.WithCopy(item, [](auto&& copy) {
    return std::string(std::forward<decltype(copy)>(copy));
  });
}

constexpr char kLong[] = "namespace-12/object-name-4711";
constexpr char kOther[] = "namespace-7/object-name-12";

TEST(ItemRecyclerTest, ReusesTheMemoryOfStrings) {
  ItemRecycler<std::string> spares;
  std::string first = Copy(spares, kLong);
  const char* const memory = first.data();
  spares.Keep(std::move(first));
  const std::string other = kOther;
  const int64_t before = CountedHeap::allocations;
  const std::string second = Copy(spares, other);
  EXPECT_EQ(CountedHeap::allocations - before, 0);
  EXPECT_EQ(second, kOther);
  EXPECT_EQ(second.data(), memory);
  EXPECT_NE(Copy(spares, other).data(), memory) << "it is left once";
}

TEST(ItemRecyclerTest, ALongerStringCanFollowAShorterOne) {
  ItemRecycler<std::string> spares;
  spares.Keep(Copy(spares, kOther));
  EXPECT_EQ(Copy(spares, std::string(1000, 'x')), std::string(1000, 'x'));
}

TEST(ItemRecyclerTest, ShortStringsNeedNoRecycledMemory) {
  ItemRecycler<std::string> spares;
  std::string item = Copy(spares, kLong);
  const char* const memory = item.data();
  spares.Keep(std::move(item));
  spares.Keep("short");
  EXPECT_EQ(Copy(spares, "a"), "a");
  EXPECT_EQ(Copy(spares, kOther).data(), memory);
}

TEST(ItemRecyclerTest, KeepsABoundedAmount) {
  const int64_t before = CountedHeap::bytes_in_use;
  ItemRecycler<std::string> spares;
  Copy(spares, kLong);
  for (int i = 0; i < 10000; ++i) spares.Keep(std::string(200, 'x'));
  EXPECT_GT(CountedHeap::bytes_in_use - before, 10000);
  EXPECT_LE(CountedHeap::bytes_in_use - before, 64 * 1024);
  spares.Clear();
  EXPECT_EQ(CountedHeap::bytes_in_use, before);
}

TEST(ItemRecyclerTest, KeepsNoLargeStrings) {
  ItemRecycler<std::string> spares;
  Copy(spares, kLong);
  const int64_t before = CountedHeap::bytes_in_use;
  spares.Keep(std::string(1 << 20, 'x'));
  EXPECT_EQ(CountedHeap::bytes_in_use, before);
}

TEST(ItemRecyclerTest, OtherTypesAreNotRecycled) {
  ItemRecycler<std::vector<int>> spares;
  const std::vector<int> item = {1, 2, 3};
  spares.WithCopy(item, [&item](const std::vector<int>& copy) {
    EXPECT_EQ(&copy, &item);
    return 0;
  });
  std::vector<int> gone = item;
  spares.Keep(std::move(gone));
  EXPECT_EQ(gone, item) << "it is not even moved from";
}

}  // namespace
}  // namespace internal
}  // namespace workqueue
