// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests how FailureCounts uses memory. This program replaces `operator new` by
// one that counts allocations and fails on demand.

#include <cstdint>

#include "absl/base/config.h"
#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"
#include "ratelimit/internal/failure_counts.h"
#include "test/base/counted_heap.h"

namespace workqueue {
namespace internal::failure_counts_allocation_test {
namespace {

using Counts = FailureCounts<int, absl::flat_hash_set<int>::hasher,
                             absl::flat_hash_set<int>::key_equal>;

TEST(FailureCountsAllocationTest, EvictingAllocatesNothing) {
  for (const int bound : {1, 2, 10, 100, 1000}) {
    Counts counts(bound);
    int item = 0;
    const auto churn = [&] {
      for (int i = 0; i < 5000; ++i) {
        counts.Increment(++item);
        counts.Increment(item - bound / 2);
        if (item % 10 == 0) counts.Erase(item - bound / 3);
      }
    };
    churn();
    churn();  // Now the table has its final size.
    const int64_t before = CountedHeap::allocations;
    churn();
    EXPECT_EQ(CountedHeap::allocations - before, 0) << bound;
  }
}

TEST(FailureCountsAllocationTest, ComingAndGoingAllocatesNothing) {
  Counts counts;
  int item = 0;
  const auto churn = [&] {
    for (int i = 0; i < 5000; ++i) {
      counts.Increment(++item);
      counts.Erase(item - 50);
    }
  };
  churn();
  const int64_t before = CountedHeap::allocations;
  churn();
  EXPECT_EQ(CountedHeap::allocations - before, 0);
}

TEST(FailureCountsAllocationTest, AllocatesOnlyForTrackedItems) {
  const int64_t before = CountedHeap::blocks_in_use;
  Counts counts(1000000);
  EXPECT_EQ(CountedHeap::blocks_in_use - before, 0);
  for (int i = 0; i < 100; ++i) counts.Increment(i);
  EXPECT_LE(CountedHeap::blocks_in_use - before, 110);
}

TEST(FailureCountsAllocationTest, NeverTakesMoreThanTheBoundNeeds) {
  constexpr int kBound = 100;
  const int64_t before = CountedHeap::blocks_in_use;
  {
    Counts counts(kBound);
    for (int i = 0; i < 100 * kBound; ++i) {
      counts.Increment(i);
      ASSERT_LE(CountedHeap::blocks_in_use - before, kBound + 10);
    }
  }
  EXPECT_EQ(CountedHeap::blocks_in_use, before);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// Returns whether `f()` ran out of memory.
template <typename F>
bool FailsWithoutMemory(F&& f) {
  CountedHeap::exhausted = true;
  bool failed = false;
  try {
    f();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  CountedHeap::exhausted = false;
  return failed;
}

TEST(FailureCountsAllocationTest, WithoutMemoryNothingIsEvicted) {
  constexpr int kBound = 64;  // as many entries as one allocation holds
  Counts counts(kBound);
  for (int i = 0; i < kBound; ++i) counts.Increment(i);
  // The first eviction needs memory, because for a moment there is one more
  // entry.
  EXPECT_TRUE(FailsWithoutMemory([&] { counts.Increment(kBound); }));
  EXPECT_EQ(counts.Get(kBound), 0);
  for (int i = 0; i < kBound; ++i) EXPECT_EQ(counts.Get(i), 1) << i;
  counts.Increment(kBound);
  for (int i = 0; i <= kBound; ++i) EXPECT_EQ(counts.Get(i), i == 0 ? 0 : 1);
  // Later evictions reuse that memory.
  EXPECT_FALSE(FailsWithoutMemory([&] { counts.Increment(kBound + 1); }));
  for (int i = 0; i <= kBound + 1; ++i) EXPECT_EQ(counts.Get(i), i < 2 ? 0 : 1);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::failure_counts_allocation_test
}  // namespace workqueue
