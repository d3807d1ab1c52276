// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/fifo.h"

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"

namespace workqueue {
namespace internal::fifo_test {
namespace {

TEST(FifoTest, ValuesComeOutInTheirOrder) {
  Fifo<int> fifo;
  EXPECT_TRUE(fifo.empty());
  int pushed = 0;
  int popped = 0;
  // The number of values grows and shrinks.
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 30; ++i) fifo.Push(pushed++);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(fifo.Pop(), popped++);
  }
  while (!fifo.empty()) EXPECT_EQ(fifo.Pop(), popped++);
  EXPECT_EQ(popped, pushed);
}

TEST(FifoTest, DestroysTheValuesThatAreLeft) {
  const auto value = std::make_shared<int>(1);
  {
    Fifo<std::shared_ptr<int>> fifo;
    for (int i = 0; i < 100; ++i) fifo.Push(std::shared_ptr<int>(value));
    EXPECT_EQ(fifo.Pop(), value);
    EXPECT_EQ(value.use_count(), 100);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(FifoTest, AllocatesNothingInTheSteadyState) {
  Fifo<int> fifo;
  const auto cycle = [&fifo] {
    for (int i = 0; i < 50; ++i) fifo.Push(int{i});
    for (int i = 0; i < 50; ++i) fifo.Pop();
  };
  cycle();
  const int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_EQ(CountedHeap::allocations, before);
}

TEST(FifoTest, FreesTheMemoryOfAPeak) {
  constexpr int kPeak = 100000;
  const int64_t before = CountedHeap::bytes_in_use;
  Fifo<int> fifo;
  for (int i = 0; i < kPeak; ++i) fifo.Push(int{i});
  EXPECT_GT(CountedHeap::bytes_in_use - before, int64_t{kPeak} * 4);
  while (!fifo.empty()) fifo.Pop();
  EXPECT_LE(CountedHeap::bytes_in_use - before, 32 * 1024);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST(FifoTest, WithoutMemoryTheValueStaysWithTheCaller) {
  Fifo<std::unique_ptr<int>> fifo;
  auto value = std::make_unique<int>(1);
  CountedHeap::exhausted = true;
  EXPECT_THROW(fifo.Push(std::move(value)), std::bad_alloc);
  CountedHeap::exhausted = false;
  EXPECT_NE(value, nullptr);
  EXPECT_TRUE(fifo.empty());
}
#endif

}  // namespace
}  // namespace internal::fifo_test
}  // namespace workqueue
