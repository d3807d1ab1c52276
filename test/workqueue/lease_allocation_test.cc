// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that leases and gets with a deadline allocate nothing in the steady
// state. This program replaces `operator new` by one that counts allocations.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::lease_allocation_test {
namespace {

// Repeats this 20 times: adds items, acquires them by each function for one
// item, makes some of them come back, and ends the leases.
void Cycle(Interface<int>& queue, int& item) {
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 4; ++k) queue.Add(++item);
    Lease<int> a = *queue.Acquire();
    queue.Add(*a);
    Lease<int> b = *queue.TryAcquire();
    Lease<int> c = *queue.AcquireWithTimeout(absl::InfiniteDuration());
    c = std::move(a);
    queue.Done(*queue.TryGet());
    b.Done();
    c.Done();
    queue.Done(*queue.GetWithTimeout(absl::InfiniteDuration()));
    // A poll that finds nothing.
    EXPECT_FALSE(queue.TryAcquire().ok());
    EXPECT_FALSE(queue.TryGet().ok());
  }
}

void ExpectNoAllocations(Interface<int>& queue) {
  int item = 0;
  for (int i = 0; i < 10; ++i) Cycle(queue, item);
  const int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 20; ++i) Cycle(queue, item);
  EXPECT_EQ(CountedHeap::allocations - before, 0);
}

TEST(LeaseAllocationTest, NoneInAQueue) {
  Queue<int> queue;
  const int64_t before = CountedHeap::allocations;
  queue.Add(1);
  EXPECT_GT(CountedHeap::allocations, before) << "it does count";
  queue.Acquire()->Done();
  ExpectNoAllocations(queue);
}

TEST(LeaseAllocationTest, NoneInADelayingQueue) {
  FakeClock clock;
  DelayingQueueOptions<int> options;
  options.clock = &clock;
  DelayingQueue<int> queue(std::move(options));
  clock.Step(absl::ZeroDuration());
  ExpectNoAllocations(queue);
}

TEST(LeaseAllocationTest, NoneInARateLimitingQueue) {
  FakeClock clock;
  RateLimitingQueueOptions<int> options;
  options.clock = &clock;
  RateLimitingQueue<int> queue(std::move(options));
  clock.Step(absl::ZeroDuration());
  ExpectNoAllocations(queue);
}

void ExpectShortKeysUseTheMemoryOfOthers(Interface<std::string>& queue) {
  const auto allocations_of = [&queue](const std::string& key) {
    const int64_t before = CountedHeap::allocations;
    queue.Add(key);
    queue.Acquire()->Done();
    return CountedHeap::allocations - before;
  };
  const std::string keys[] = {std::string(63, 'a'), std::string(40, 'b'),
                              std::string(63, 'c'), "d"};
  allocations_of(keys[0]);
  for (const std::string& key : keys) EXPECT_EQ(allocations_of(key), 0) << key;
  // The bytes of a long key are freed.
  const std::string long_key(64, 'e');
  EXPECT_EQ(allocations_of(long_key), 1);
  EXPECT_EQ(allocations_of(long_key), 1);
}

TEST(LeaseAllocationTest, NoneForAShortKeyInAQueue) {
  Queue<std::string> queue;
  ExpectShortKeysUseTheMemoryOfOthers(queue);
}

TEST(LeaseAllocationTest, NoneForAShortKeyInAPriorityQueue) {
  FakeClock clock;
  PriorityQueueOptions<std::string> options;
  options.clock = &clock;
  PriorityQueue<std::string> queue(std::move(options));
  clock.Step(absl::ZeroDuration());  // The loop's thread has begun to wait.
  ExpectShortKeysUseTheMemoryOfOthers(queue);
}

}  // namespace
}  // namespace workqueue::lease_allocation_test
