// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests queues at the limits of a machine: with very many waiting items, very
// large items, and very many threads. The environment variables ITEMS and
// FAILURES raise the numbers.

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/base/counted_heap.h"
#include "test/stress/debts.h"
#include "test/stress/from_environment.h"
#include "test/stress/threads.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::scale_stress_test {
namespace {

// Counts comparisons of keys, to check that the work grows linearly with the
// items and not quadratically.
struct CountingEq {
  bool operator()(int a, int b) const {
    ++calls;
    return a == b;
  }
  static inline std::atomic<int64_t> calls{0};
};

// The memory in bytes that may remain after a spike, whatever the number of
// items was.
constexpr int64_t kLeftOver = 3 << 20;

class ScaleTest : public testing::Test {
 protected:
  // Adds the items by `add(item, delay)` and makes them due. Expects that
  // `take()` returns each of them once and that the memory is given back.
  template <typename Add, typename Take>
  void Spike(Add add, Take take) {
    const int64_t before = CountedHeap::bytes_in_use;
    CountingEq::calls = 0;
    std::mt19937 random(1);
    for (int i = 0; i < items_; ++i) {
      add(i, absl::Microseconds(1 + random() % 3600000000));
    }
    EXPECT_GE(CountedHeap::bytes_in_use - before, 8 * items_);
    clock_.Step(absl::Hours(2));
    {
      std::vector<bool> seen(items_);
      for (int i = 0; i < items_; ++i) {
        const int item = take();
        ASSERT_FALSE(seen[item]) << item << " has come twice";
        seen[item] = true;
      }
    }
    // Some of the memory is given back when the queue's thread wakes next.
    clock_.Step(WaitingLoop::Heartbeat());
    EXPECT_LE(CountedHeap::bytes_in_use - before, kLeftOver);
    EXPECT_LE(CountingEq::calls, 20 * items_);
  }

  template <typename Q>
  void SpikeOf(Q& queue) {
    Spike(
        [&queue](int item, absl::Duration delay) {
          EXPECT_TRUE(queue.AddAfter(item, delay));
        },
        [&queue] {
          const std::optional<int> item = queue.Get();
          EXPECT_TRUE(queue.Done(*item));
          return *item;
        });
    EXPECT_EQ(queue.Len(), 0u);
  }

  void SpikeOfDelayQueue(WaitingSetOptions waiting_set) {
    DelayQueueOptions options;
    options.clock = &clock_;
    options.waiting_set = waiting_set;
    DelayQueue<int> queue(options);
    Spike([&queue](int item, absl::Duration delay) { queue.Push(item, delay); },
          [&queue] { return *queue.Take(); });
    EXPECT_EQ(queue.Len(), 0u);
  }

  const int64_t items_ = FromEnvironment("ITEMS", 200000);
  FakeClock clock_;
};

using Hash = absl::flat_hash_set<int>::hasher;

TEST_F(ScaleTest, ManyItemsWaitInADelayingQueue) {
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  DelayingQueue<int, Hash, CountingEq> queue(std::move(options));
  SpikeOf(queue);
}

TEST_F(ScaleTest, ManyItemsWaitInATimingWheel) {
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  options.waiting_set = *WaitingSetOptions::TimingWheel();
  DelayingQueue<int, Hash, CountingEq> queue(std::move(options));
  SpikeOf(queue);
}

TEST_F(ScaleTest, ManyItemsWaitInAPriorityQueue) {
  PriorityQueueOptions<int> options;
  options.clock = &clock_;
  PriorityQueue<int, Hash, CountingEq> queue(std::move(options));
  SpikeOf(queue);
}

TEST_F(ScaleTest, ManyValuesWaitInADelayQueue) {
  SpikeOfDelayQueue(WaitingSetOptions());
}

TEST_F(ScaleTest, ManyValuesWaitInADelayQueueWithATimingWheel) {
  SpikeOfDelayQueue(*WaitingSetOptions::TimingWheel());
}

// Keys that all have the same hash make the work quadratic, in every hash
// table. Keys that differ in a few bits must not.
TEST_F(ScaleTest, KeysThatDifferInTheirHighBitsOnly) {
  struct HighBits {
    size_t operator()(int key) const { return static_cast<size_t>(key) << 44; }
  };
  constexpr int kKeys = 100000;
  Queue<int, HighBits, CountingEq> queue;
  CountingEq::calls = 0;
  for (int i = 0; i < kKeys; ++i) queue.Add(i);
  while (queue.Len() > 0) queue.Done(*queue.Get());
  EXPECT_LE(CountingEq::calls, 20 * kKeys);
}

TEST_F(ScaleTest, KeysOfAMegabyte) {
  constexpr int kKeys = 50;
  const auto key = [](int i) {
    return absl::StrCat(std::string(1 << 20, 'x'), i);
  };
  const int64_t before = CountedHeap::bytes_in_use;
  {
    RateLimitingQueueOptions<std::string> options;
    options.clock = &clock_;
    RateLimitingQueue<std::string> queue(std::move(options));
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(queue.Add(key(i)));
      EXPECT_TRUE(queue.Add(key(i)));
      EXPECT_TRUE(queue.AddAfter(key(i), absl::Seconds(1)));
      EXPECT_TRUE(queue.AddRateLimited(key(i)));
    }
    clock_.Step(absl::Hours(1));
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_EQ(queue.Get(), key(i));
      EXPECT_TRUE(queue.Done(key(i)));
      queue.Forget(key(i));
    }
    EXPECT_EQ(queue.Len(), 0u);
    EXPECT_LE(CountedHeap::bytes_in_use - before, 1 << 20);
  }
}

TEST_F(ScaleTest, AnItemThatFailsOverAndOver) {
  const int failures = FromEnvironment("FAILURES", 1000000);
  const auto limiter = *ItemExponentialFailureRateLimiter<int>::Create(
      absl::Milliseconds(5), absl::Seconds(1000));
  absl::Duration delay;
  for (int i = 0; i < failures; ++i) delay = limiter->When(1);
  EXPECT_EQ(delay, absl::Seconds(1000));
  EXPECT_EQ(limiter->NumRequeues(1), failures);
  limiter->Forget(1);
  EXPECT_EQ(limiter->When(1), absl::Milliseconds(5));
}

TEST_F(ScaleTest, AThousandBlockedWorkers) {
  constexpr int kWorkers = 1000, kItems = 20000;
  Debts debts(kItems);
  Queue<int> queue;
  Threads workers;
  workers.Start(kWorkers, [&](int) { Consume(queue, debts); });
  for (int i = 0; i < kItems; ++i) {
    const int64_t addition = debts.Adding(i);
    EXPECT_TRUE(queue.Add(i));
    debts.Added(i, addition);
  }
  EXPECT_TRUE(queue.ShutDownWithDrain());
  debts.Close();
  workers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
  EXPECT_EQ(debts.processings(), kItems);
}

// Returns the CPU time that this process has used.
absl::Duration CpuTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

class CountingClient final : public WaitingLoop::Client {
 public:
  explicit CountingClient(int64_t* runs) : runs_(runs) {}

  absl::Time Run(absl::Time now) override {
    ++*runs_;
    return now + absl::Seconds(1);
  }

 private:
  int64_t* const runs_;
};

// Returns the CPU time of `runs` runs, or some more, of `n` clients of a loop.
// Over and over, all clients are added, run twice, and are removed.
absl::Duration CostOfRuns(int n, int64_t runs) {
  FakeClock clock;
  WaitingLoop loop(&clock);
  int64_t counted = 0;
  std::vector<CountingClient> clients(n, CountingClient(&counted));
  const absl::Duration before = CpuTime();
  for (int64_t i = 0; i < runs; i += 2 * n) {
    for (CountingClient& client : clients) loop.Add(&client);
    clock.Step(absl::ZeroDuration());
    clock.Step(absl::Seconds(1));
    for (CountingClient& client : clients) loop.Remove(&client);
  }
  EXPECT_GE(counted, runs);
  return CpuTime() - before;
}

// If each run visited all clients, it would cost a hundred times as much for a
// hundred times as many clients.
TEST(WaitingLoopScaleTest, ARunCostsLittleMoreWithManyClients) {
  CostOfRuns(100, 10000);  // warms up
  const absl::Duration few = CostOfRuns(400, 80000);
  const absl::Duration many = CostOfRuns(40000, 80000);
  EXPECT_LT(many, 10 * few);
}

}  // namespace
}  // namespace workqueue::scale_stress_test
