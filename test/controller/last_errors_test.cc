// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests how LastErrors uses memory. This program counts allocations.

#include "workqueue/controller/internal/last_errors.h"

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "test/internal/counted_heap.h"

namespace workqueue {
namespace internal {
namespace {

using Errors = LastErrors<int, std::hash<int>, std::equal_to<int>>;

constexpr int kSpike = Errors::kMaxItems;

// Each hundredth item of a spike stays.
constexpr int kStay = kSpike / 100;

void Record(Errors& errors, int item) {
  errors.Record(item, absl::InternalError("x"));
}

// Records an error of each item of a spike, and erases those that do not stay.
// Then other items come and go.
void Spike(Errors& errors) {
  for (int i = 0; i < kSpike; ++i) Record(errors, i);
  for (int i = 0; i < kSpike; ++i) {
    if (i % 100 != 0) errors.Erase(i);
  }
  for (int i = 0; i < 32 * kStay + 1000; ++i) {
    Record(errors, kSpike);
    errors.Erase(kSpike);
  }
}

TEST(LastErrorsTest, TheMemoryOfASpikeIsFreedAlthoughSomeItemsStay) {
  const int64_t before_fresh = CountedHeap::bytes_in_use;
  Errors fresh;
  for (int i = 0; i < kStay; ++i) Record(fresh, i);
  const int64_t fresh_bytes = CountedHeap::bytes_in_use - before_fresh;

  const int64_t before = CountedHeap::bytes_in_use;
  Errors errors;
  Spike(errors);
  // The hash table stays at 64 KB.
  EXPECT_LE(CountedHeap::bytes_in_use - before, 2 * fresh_bytes + 96 * 1024);
}

TEST(LastErrorsTest, ItemsThatStayAfterASpikeKeepTheirErrorsAndTheirOrder) {
  Errors errors;
  Spike(errors);
  int next = 2 * kSpike;
  for (int i = kStay; i < kSpike; ++i) Record(errors, next++);
  // Each further item replaces the item that failed first.
  for (int i = 0; i < kSpike; i += 100) {
    EXPECT_EQ(errors.Get(i), "INTERNAL: x") << i;
    Record(errors, next++);
    EXPECT_EQ(errors.Get(i), "") << i;
  }
}

}  // namespace
}  // namespace internal
}  // namespace workqueue
