// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the queues' use of memory. The queues allocate nothing in the steady
// state, and free memory that they do not need. This program replaces `operator
// new` by one that counts allocations.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/timers.h"

namespace workqueue::allocation_test {
namespace {

// Returns the number of allocations during `f()`, on all threads.
template <typename F>
int64_t AllocationsIn(F&& f) {
  const int64_t before = CountedHeap::allocations;
  f();
  return CountedHeap::allocations - before;
}

// Expects that `cycle()` allocates nothing once it has been called `warm_up`
// times, in the next `times` calls.
template <typename F>
void ExpectSteady(int warm_up, int times, F cycle) {
  for (int i = 0; i < warm_up; ++i) cycle();
  EXPECT_EQ(AllocationsIn([&] {
              for (int i = 0; i < times; ++i) cycle();
            }),
            0);
}

DelayingQueueOptions<int> On(FakeClock* clock) {
  DelayingQueueOptions<int> options;
  options.clock = clock;
  return options;
}

// -----------------------------------------------------------------------------
// The steady state
// -----------------------------------------------------------------------------

TEST(SteadyStateTest, AddGetDoneAllocateNothing) {
  constexpr int kItems = 50;
  Queue<int> queue;
  int first = 0;
  const auto cycle = [&] {
    first += kItems;
    for (int i = 0; i < kItems; ++i) queue.Add(first + i);
    for (int i = 0; i < kItems; ++i) queue.Get();
    for (int i = 0; i < kItems; i += 2) queue.Add(first + i);  // Again.
    for (int i = 0; i < kItems; ++i) queue.Done(first + i);
    for (int i = 0; i < kItems; i += 2) queue.Done(*queue.Get());
  };
  ExpectSteady(/*warm_up=*/10, /*times=*/200, cycle);
}

// The queue must know the time of the oldest item to report it.
TEST(SteadyStateTest, AQueueThatReportsAnAgeAllocatesNothing) {
  FakeClock clock;
  RecordingMetrics metrics;
  for (const MetricKind kind : kMetricKinds) {
    if (kind != MetricKind::kOldestQueued) metrics.unwanted.push_back(kind);
  }
  QueueOptions<int> options;
  options.name = "test";
  options.clock = &clock;
  options.metrics_provider = &metrics;
  Queue<int> queue(std::move(options));
  const auto cycle = [&queue] {
    for (int i = 0; i < 50; ++i) {
      queue.Add(i);
      queue.Done(*queue.Get());
    }
  };
  clock.AwaitWaiters(1);  // The queue's thread has begun.
  ExpectSteady(/*warm_up=*/1, /*times=*/1, cycle);
}

TEST(SteadyStateTest, AFairOrderingAllocatesNothing) {
  constexpr int kItems = 50;
  FairOrderingOptions<int, int> fair;
  fair.dimensions.resize(2);
  fair.dimensions[0].group_of = [](int item) { return item % 7; };
  fair.dimensions[0].max_in_process = 20;
  fair.dimensions[1].group_of = [](int item) { return item % 11; };
  fair.dimensions[1].count_processing = true;
  fair.max_retries_in_process = 20;
  PriorityQueueOptions<int> options;
  options.ordering = *FairOrdering<int, int>::Create(std::move(fair));
  PriorityQueue<int> queue(std::move(options));
  int first = 0;
  const auto cycle = [&] {
    first += kItems;
    for (int i = 0; i < kItems; ++i) {
      AddOptions how;
      how.priority = i % 2;
      how.retry = i % 3 == 0;
      queue.AddWithOptions(how, {first + i});
    }
    AddOptions higher;
    higher.priority = 2;
    queue.AddWithOptions(higher, {first, first + 1, first + 2});
    int got[10];
    for (int i = 0; i < kItems; i += 10) {
      for (int& item : got) item = *queue.Get();
      for (int item : got) queue.Done(item);
    }
  };
  ExpectSteady(/*warm_up=*/10, /*times=*/200, cycle);
}

TEST(SteadyStateTest, CallbacksAllocateNothing) {
  constexpr int kCallbacks = 20;
  Queue<int> queue;
  InlineExecutor executor;
  int processed = 0;
  int next = 0;
  const auto cycle = [&] {
    for (int i = 0; i < kCallbacks; ++i) {
      queue.AcquireAsync(
          &executor, [&processed](absl::StatusOr<Lease<int>>) { ++processed; });
    }
    // A callback that waits for the next cycle, and one that is cancelled.
    Lease<int> lease;
    queue.AcquireNextAsync(&lease, &executor,
                           [&](absl::StatusOr<Lease<int>>) { ++processed; });
    EXPECT_TRUE(queue.CancelAcquire(
        queue.AcquireAsync(&executor, [](absl::StatusOr<Lease<int>>) {})));
    for (int i = 0; i < kCallbacks; ++i) queue.Add(next++);
    queue.Add(next++);
  };
  ExpectSteady(/*warm_up=*/10, /*times=*/100, cycle);
  EXPECT_EQ(processed, 110 * (kCallbacks + 1));
}

// As workqueue/interfaces.h promises.
TEST(MemoryTest, ACallbackThatWaitsTakesAtMost128Bytes) {
  constexpr int kCallbacks = 100000;
  Queue<int> queue;
  InlineExecutor executor;
  const int64_t before = CountedHeap::bytes_in_use;
  for (int i = 0; i < kCallbacks; ++i) {
    queue.AcquireAsync(&executor, [](absl::StatusOr<Lease<int>>) {});
  }
  EXPECT_LE(CountedHeap::bytes_in_use - before, int64_t{kCallbacks} * 128);
  queue.ShutDown();
  EXPECT_LE(CountedHeap::bytes_in_use - before, 64 * 1024);
}

// Copying a long string allocates memory once, and a short one uses that of an
// item before it.
TEST(SteadyStateTest, AddOfALongStringAllocatesItsCopyOnly) {
  constexpr size_t kKeys = 1000;
  std::vector<std::string> keys;
  for (size_t i = 0; i < kKeys; ++i) {
    keys.push_back(absl::StrCat("namespace/quite-a-long-name-", i));
  }
  Queue<std::string> queue;
  const auto cycle = [&queue, &keys] {
    for (size_t i = 0; i < kKeys; i += 100) {
      for (size_t k = 0; k < 100; ++k) queue.Add(keys[i + k]);
      for (int k = 0; k < 100; ++k) queue.Acquire()->Done();
    }
  };
  ExpectSteady(/*warm_up=*/1, /*times=*/1, cycle);
  for (std::string& key : keys) key.append(64, '-');
  cycle();
  EXPECT_EQ(AllocationsIn(cycle), static_cast<int64_t>(kKeys));
}

TEST(SteadyStateTest, ManyItemsInAllStatesAllocateNothing) {
  std::mt19937 random(1);
  Queue<int> queue;
  std::vector<int> processing;
  processing.reserve(1000);
  const auto churn = [&] {
    for (int i = 0; i < 20000; ++i) {
      if (queue.Len() + processing.size() < 800) {
        queue.Add(static_cast<int>(random()));
      } else if (queue.Len() > 0 && processing.size() < 400) {
        processing.push_back(*queue.Get());
      } else {
        std::swap(processing[random() % processing.size()], processing.back());
        queue.Done(processing.back());
        processing.pop_back();
      }
    }
  };
  ExpectSteady(/*warm_up=*/1, /*times=*/1, churn);
}

TEST(SteadyStateTest, AddAfterAllocatesNothing) {
  constexpr int kItems = 50;
  FakeClock clock;
  DelayingQueue<int> queue(On(&clock));
  int first = 1000;
  const auto cycle = [&] {
    first += kItems;
    for (int i = 0; i < kItems; ++i) {
      queue.AddAfter(first + i, absl::Milliseconds(100 + i % 7));
    }
    for (int i = 0; i < kItems; i += 5) {
      queue.AddAfter(first + i, absl::Milliseconds(50));  // Earlier.
    }
    clock.Step(absl::Milliseconds(60));
    clock.Step(absl::Milliseconds(60));
    while (queue.Len() > 0) queue.Done(*queue.Get());
  };
  // The buffers between the threads must first grow to their maximum size. They
  // are fullest when items are added while the queue's thread sleeps. An item
  // that is due later does not wake the thread.
  queue.AddAfter(-1, absl::Milliseconds(1));
  for (int round = 0; round < 2; ++round) {
    clock.Step(absl::ZeroDuration());
    for (int i = 0; i < 2 * kItems; ++i) {
      queue.AddAfter(i, absl::Milliseconds(2));
    }
    clock.Step(absl::Milliseconds(1));
  }
  ExpectSteady(/*warm_up=*/20, /*times=*/100, cycle);
}

TEST(SteadyStateTest, TimersAllocateNothing) {
  constexpr int kCallbacks = 50;
  FakeClock clock;
  InlineExecutor executor;
  TimersOptions options;
  options.clock = &clock;
  Timers timers(options);
  int calls = 0;
  const auto cycle = [&] {
    for (int i = 0; i < kCallbacks; ++i) {
      timers.CallAfter(absl::Milliseconds(i % 7), &executor,
                       [&calls](const absl::Status&) { ++calls; });
      timers.Cancel(timers.CallAfter(absl::Seconds(1), &executor,
                                     [](const absl::Status&) {}));
    }
    clock.Step(absl::Milliseconds(10));
  };
  ExpectSteady(/*warm_up=*/20, /*times=*/100, cycle);
  EXPECT_EQ(calls, 120 * kCallbacks);
}

TEST(SteadyStateTest, APriorityQueueAllocatesNothing) {
  constexpr int kItems = 50;
  FakeClock clock;
  PriorityQueueOptions<int> options;
  options.clock = &clock;
  PriorityQueue<int> queue(std::move(options));
  const auto add = [&queue](int item, int priority, absl::Duration after) {
    AddOptions options;
    options.priority = priority;
    options.after = after;
    queue.AddWithOptions(options, absl::MakeConstSpan(&item, 1));
  };
  int first = 0;
  const auto cycle = [&] {
    first += kItems;
    for (int i = 0; i < kItems; ++i) {
      add(first + i, i % 3, absl::Milliseconds(i % 7));
      add(first + i, i % 5, absl::Milliseconds(10));
    }
    queue.Reschedule(first + 1, absl::Milliseconds(2));
    queue.CancelDelayed(first + 2);
    clock.Step(absl::Milliseconds(3));
    for (int i = 0; i < 10; ++i) {
      const int item = queue.GetWithPriority()->item;
      add(item, i % 2, absl::ZeroDuration());  // Again.
      add(item, 7, absl::ZeroDuration());
      queue.Done(item);
    }
    clock.Step(absl::Milliseconds(7));
    while (queue.Len() > 0) queue.Acquire()->Done();
  };
  ExpectSteady(/*warm_up=*/20, /*times=*/100, cycle);
}

// -----------------------------------------------------------------------------
// Hoarding
// -----------------------------------------------------------------------------

TEST(HoardingTest, AQueueKeepsFewOfTheItemsThatItHad) {
  constexpr int kItems = 5000;
  Queue<int> queue;
  const int64_t before = CountedHeap::blocks_in_use;
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  EXPECT_GE(CountedHeap::blocks_in_use - before, kItems / 64);
  for (int i = 0; i < kItems; ++i) queue.Done(*queue.Get());
  EXPECT_LE(CountedHeap::blocks_in_use - before, 30);
}

TEST(HoardingTest, ADelayingQueueKeepsFewOfTheItemsThatItHad) {
  constexpr int kItems = 5000;
  FakeClock clock;
  DelayingQueue<int> queue(On(&clock));
  const int64_t before = CountedHeap::blocks_in_use;
  for (int i = 0; i < kItems; ++i) queue.AddAfter(i, absl::Seconds(1));
  clock.Step(absl::ZeroDuration());
  EXPECT_GE(CountedHeap::blocks_in_use - before, kItems / 64);
  clock.Step(absl::Seconds(1));
  for (int i = 0; i < kItems; ++i) queue.Done(*queue.Get());
  EXPECT_LE(CountedHeap::blocks_in_use - before, 30);
}

TEST(HoardingTest, ShutDownReleasesTheMemoryOfWhatWaits) {
  constexpr int kItems = 5000;
  FakeClock clock;
  DelayingQueue<int> queue(On(&clock));
  const int64_t before = CountedHeap::bytes_in_use;
  for (int i = 0; i < kItems; ++i) queue.AddAfter(i, absl::Seconds(1));
  clock.Step(absl::ZeroDuration());
  for (int i = 0; i < 100; ++i) queue.AddAfter(i, absl::Seconds(2));
  EXPECT_GE(CountedHeap::bytes_in_use - before, 100000);
  queue.ShutDown();
  clock.Step(absl::ZeroDuration());
  EXPECT_LE(CountedHeap::bytes_in_use - before, 10000);
}

TEST(HoardingTest, APriorityQueueKeepsFewOfTheItemsThatItHad) {
  constexpr int kItems = 5000;
  FakeClock clock;
  PriorityQueueOptions<int> options;
  options.clock = &clock;
  PriorityQueue<int> queue(std::move(options));
  const int64_t before = CountedHeap::blocks_in_use;
  for (int i = 0; i < kItems; ++i) queue.AddAfter(i, absl::Seconds(1));
  EXPECT_GE(CountedHeap::blocks_in_use - before, kItems / 64);
  clock.Step(absl::Seconds(1));
  for (int i = 0; i < kItems; ++i) queue.Done(*queue.Get());
  EXPECT_LE(CountedHeap::blocks_in_use - before, 30);
}

TEST(HoardingTest, ShutDownReleasesTheMemoryOfWhatWaitsInAPriorityQueue) {
  constexpr int kItems = 5000;
  FakeClock clock;
  PriorityQueueOptions<int> options;
  options.clock = &clock;
  PriorityQueue<int> queue(std::move(options));
  // The table of the items in the queue does not shrink.
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  for (int i = 0; i < kItems; ++i) queue.Done(*queue.Get());
  const int64_t before = CountedHeap::bytes_in_use;
  for (int i = 0; i < kItems; ++i) queue.AddAfter(i, absl::Seconds(1));
  EXPECT_GE(CountedHeap::bytes_in_use - before, 100000);
  queue.ShutDown();
  clock.Step(absl::ZeroDuration());
  EXPECT_LE(CountedHeap::bytes_in_use - before, 10000);
}

TEST(HoardingTest, DestructionFreesAllMemory) {
  const auto use = [] {
    FakeClock clock;
    DelayingQueue<int> queue(On(&clock));
    for (int i = 0; i < 100; ++i) {
      queue.Add(i);
      queue.AddAfter(i, absl::Seconds(i));
    }
    for (int i = 0; i < 50; ++i) queue.Get();
    clock.Step(absl::Seconds(70));
  };
  use();  // Other code may allocate memory once and keep it.
  const int64_t before = CountedHeap::bytes_in_use;
  use();
  EXPECT_EQ(CountedHeap::bytes_in_use, before);
}

}  // namespace
}  // namespace workqueue::allocation_test
