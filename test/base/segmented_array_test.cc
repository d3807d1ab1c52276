// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/segmented_array.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"

namespace workqueue {
namespace internal::segmented_array_test {
namespace {

using ::workqueue::CountedHeap;

struct Element {
  uint64_t a;
  uint32_t b;
};

TEST(SegmentedArrayTest, HasNoMemoryAtFirst) {
  const int64_t before = CountedHeap::allocations;
  SegmentedArray<int> array;
  array.Reserve(0);
  EXPECT_EQ(array.capacity(), 0u);
  EXPECT_EQ(CountedHeap::allocations, before);
}

TEST(SegmentedArrayTest, ElementsDoNotOverlap) {
  constexpr uint32_t kSize = 100000;
  SegmentedArray<Element> array;
  array.Reserve(kSize);
  ASSERT_GE(array.capacity(), kSize);
  for (uint32_t i = 0; i < array.capacity(); ++i) array[i] = {i, 3 * i};
  const SegmentedArray<Element>& same = array;
  for (uint32_t i = 0; i < array.capacity(); ++i) {
    ASSERT_EQ(same[i].a, i);
    ASSERT_EQ(same[i].b, 3 * i);
  }
}

TEST(SegmentedArrayTest, GrowingKeepsTheElements) {
  SegmentedArray<int> array;
  for (int i = 0; i < 100000; ++i) {
    array.Reserve(i + 1);
    array[i] = i;
  }
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(array[i], i);
}

// A heap with four children per node relies on this.
TEST(SegmentedArrayTest, FourFromAMultipleOfFourAreInOneCacheLine) {
  struct QuarterLine {
    char bytes[16];
  };
  SegmentedArray<QuarterLine> array;
  array.Reserve(5000);
  for (uint32_t i = 0; i < 5000; i += 4) {
    const auto address = reinterpret_cast<uintptr_t>(&array[i]);
    ASSERT_EQ(address % 64, 0u) << i;
    ASSERT_EQ(reinterpret_cast<uintptr_t>(&array[i + 3]), address + 48) << i;
  }
}

// A call that moves many elements must allocate a large block, or many blocks.
TEST(SegmentedArrayTest, NoReserveMovesManyElements) {
  constexpr size_t kSegment = 64 << 10;
  SegmentedArray<Element> array;
  CountedHeap::largest_block = 0;
  for (size_t size = 1; size < 1000000; ++size) {
    const int64_t allocations = CountedHeap::allocations;
    array.Reserve(size);
    ASSERT_LE(CountedHeap::allocations, allocations + 2);
    ASSERT_LE(array.capacity(),
              std::min(2 * size + 16, size + kSegment / sizeof(Element)));
  }
  EXPECT_LE(CountedHeap::largest_block, static_cast<int64_t>(kSegment));
}

// After Shrink() there is at most two and a half times as much memory as an
// array has that has grown to the size.
TEST(SegmentedArrayTest, ShrinksWithoutMovingManyElements) {
  constexpr int kSize = 100000;
  const int64_t before = CountedHeap::bytes_in_use;
  SegmentedArray<int> array, grown;
  array.Reserve(kSize);
  for (int i = 0; i < kSize; ++i) array[i] = i;
  CountedHeap::largest_block = 0;
  for (int size = kSize; size >= 0; size -= size / 1000 + 1) {
    array.Shrink(size);
    ASSERT_GE(array.capacity(), static_cast<size_t>(size));
    for (int i = 0; i < size; i += size / 100 + 1) ASSERT_EQ(array[i], i);
    grown.Clear();
    grown.Reserve(size);
    ASSERT_LE(array.capacity(), std::max<size_t>(5 * grown.capacity() / 2,
                                                 kKeptBytes / sizeof(int)))
        << size;
  }
  EXPECT_LE(CountedHeap::largest_block, 64 << 10);
  array.Clear();
  grown.Clear();
  EXPECT_LE(CountedHeap::bytes_in_use, before);
}

TEST(SegmentedArrayTest, NoShrinkFreesMuch) {
  constexpr int64_t kMost = 2 << 20;
  SegmentedArray<int> array;
  array.Reserve(10000000);
  for (int64_t freed = -1; freed != 0;) {
    const int64_t bytes = CountedHeap::bytes_in_use;
    array.Shrink(0);
    freed = bytes - CountedHeap::bytes_in_use;
    ASSERT_LE(freed, kMost);
  }
  EXPECT_LE(array.capacity(), kKeptBytes / sizeof(int));
}

// So that nothing is allocated while the size changes by a little.
TEST(SegmentedArrayTest, AfterShrinkItCanGrowWithoutAnAllocation) {
  SegmentedArray<int> array;
  for (size_t size = 1; size < 100000; size += size / 10 + 1) {
    array.Reserve(1000000);
    for (size_t before = 0; before != array.capacity();) {
      before = array.capacity();
      array.Shrink(size);
    }
    const int64_t allocations = CountedHeap::allocations;
    array.Reserve(size + size / 4);
    ASSERT_EQ(CountedHeap::allocations, allocations) << size;
    array.Shrink(size);
    array.Reserve(size + size / 4);
    ASSERT_EQ(CountedHeap::allocations, allocations) << size;
  }
}

TEST(SegmentedArrayTest, ClearFreesTheMemoryAndTheArrayCanBeUsedAgain) {
  const int64_t before = CountedHeap::bytes_in_use;
  SegmentedArray<int> array;
  for (int round = 0; round < 3; ++round) {
    array.Reserve(1000);
    for (int i = 0; i < 1000; ++i) array[i] = round;
    EXPECT_EQ(array[999], round);
    array.Clear();
    EXPECT_EQ(array.capacity(), 0u);
    EXPECT_EQ(CountedHeap::bytes_in_use, before);
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(SegmentedArrayTest, AFailedAllocationKeepsTheElements) {
  SegmentedArray<int> array;
  array.Reserve(16);
  for (int i = 0; i < 16; ++i) array[i] = i;
  CountedHeap::exhausted = true;
  EXPECT_THROW(array.Reserve(17), std::bad_alloc);
  CountedHeap::exhausted = false;
  EXPECT_EQ(array.capacity(), 16u);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(array[i], i);
  array.Reserve(17);
  EXPECT_EQ(array.capacity(), 32u);
}

TEST(SegmentedArrayTest, AFailedAllocationKeepsTheLargerSegment) {
  SegmentedArray<int> array;
  array.Reserve(10000);
  for (int i = 0; i < 10000; ++i) array[i] = i;
  const size_t capacity = array.capacity();
  CountedHeap::exhausted = true;
  array.Shrink(100);
  CountedHeap::exhausted = false;
  EXPECT_EQ(array.capacity(), capacity);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(array[i], i);
  array.Shrink(100);
  EXPECT_LT(array.capacity(), capacity);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::segmented_array_test
}  // namespace workqueue
