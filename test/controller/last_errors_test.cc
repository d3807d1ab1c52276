// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests how LastErrors uses memory, and which failures come first. This program
// counts allocations.

#include "workqueue/controller/internal/last_errors.h"

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"

namespace workqueue {
namespace internal::last_errors_test {
namespace {

using Errors = LastErrors<int, std::hash<int>, std::equal_to<int>>;

constexpr int kSpike = Errors::kMaxItems;

// Each hundredth item of a spike stays.
constexpr int kStay = kSpike / 100;

void Record(Errors& errors, int item) {
  errors.Record(item, absl::InternalError("x"), absl::UnixEpoch());
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

TEST(LastErrorsTest, TheMostFailuresComeFirstAndThenTheOldestOnes) {
  Errors errors;
  const auto at = [](int s) { return absl::FromUnixSeconds(s); };
  errors.Record(1, absl::NotFoundError("a"), at(10));
  errors.Record(2, absl::NotFoundError("b"), at(11));
  errors.Record(3, absl::NotFoundError("c"), at(12));
  errors.Record(2, absl::AbortedError("d"), at(13));
  errors.Record(1, absl::AbortedError("e"), at(14));
  errors.Record(4, absl::NotFoundError("f"), at(15));

  const auto first = errors.MostFailed(3);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].item, 1);
  EXPECT_EQ(first[0].failures, 2);
  EXPECT_EQ(first[0].last_error, "ABORTED: e");
  EXPECT_EQ(first[0].first_failed_at, at(10));
  EXPECT_EQ(first[0].last_failed_at, at(14));
  EXPECT_EQ(first[1].item, 2);
  EXPECT_EQ(first[2].item, 3);
  EXPECT_EQ(errors.MostFailed(0).size(), 0u);
  EXPECT_EQ(errors.MostFailed(100).size(), 4u);
  EXPECT_EQ(errors.size(), 4u);
}

TEST(LastErrorsTest, CountsFromZeroAfterAnErase) {
  Errors errors;
  Record(errors, 1);
  Record(errors, 1);
  EXPECT_EQ(errors.Find(1)->failures, 2);
  errors.Erase(1);
  EXPECT_FALSE(errors.Find(1).has_value());
  errors.Record(1, absl::InternalError("y"), absl::FromUnixSeconds(1));
  EXPECT_EQ(errors.Find(1)->failures, 1);
  EXPECT_EQ(errors.Find(1)->first_failed_at, absl::FromUnixSeconds(1));
}

}  // namespace
}  // namespace internal::last_errors_test
}  // namespace workqueue
