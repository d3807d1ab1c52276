// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads on a priority queue.

#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "test/stress/threads.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"

namespace workqueue::priority_queue_stress_test {
namespace {

// Returns options with one of five priorities and a delay of up to 3 ms or
// none. One in eight delays is over at once.
AddOptions AnyOptions(std::mt19937& random) {
  AddOptions options;
  options.priority = static_cast<int>(random() % 5) - 2;
  if (random() % 2 == 0) {
    options.after = absl::Microseconds(static_cast<int>(random() % 3000));
  } else if (random() % 4 == 0) {
    options.after = absl::Nanoseconds(1);
  }
  return options;
}

bool Add(PriorityQueue<int>& queue, const AddOptions& options, int item) {
  return queue.AddWithOptions(options, absl::MakeConstSpan(&item, 1));
}

bool AddAny(PriorityQueue<int>& queue, int item, std::mt19937& random) {
  return Add(queue, AnyOptions(random), item);
}

// Takes half of the items as leases.
void LeaseAndGet(PriorityQueue<int>& queue, Debts& debts, int consumer) {
  const auto process = [&debts](int item) {
    debts.Begin(item);
    std::this_thread::yield();
    debts.End(item);
  };
  if (consumer % 2 == 0) {
    Lease<int> lease;
    while (queue.AcquireNext(&lease).ok()) process(*lease);
  } else {
    while (const auto item = queue.GetWithPriority()) {
      process(item->item);
      EXPECT_TRUE(queue.Done(item->item));
    }
  }
}

TEST(PriorityQueueStressTest, NoAdditionIsLostAndNoItemShared) {
  constexpr int kItems = 64, kThreads = 4, kAdds = 20000;
  Debts debts(kItems);
  RecordingMetrics metrics;
  metrics.with_priorities = true;
  PriorityQueueOptions<int> options;
  options.name = "stress";
  options.metrics_provider = &metrics;
  PriorityQueue<int> queue(std::move(options));
  Threads producers, consumers;
  consumers.Start(kThreads, [&](int c) { LeaseAndGet(queue, debts, c); });
  producers.Start(kThreads, [&](int p) {
    EXPECT_EQ(Produce(queue, debts, kItems, kAdds, p, AddAny), kAdds);
  });
  producers.Join();
  debts.AwaitSettled();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
  EXPECT_EQ(metrics.count(MetricKind::kAdds), debts.processings());
  for (const auto& [priority, depth] : metrics.depth_by_priority()) {
    EXPECT_EQ(depth, 0) << "at priority " << priority;
  }
}

// Adds each item once. None may come early.
TEST(PriorityQueueStressTest, NothingIsEarlyAndNothingIsLost) {
  constexpr int kThreads = 4, kItemsOfEach = 10000;
  std::vector<std::atomic<int64_t>> ready_at(kThreads * kItemsOfEach);
  std::vector<std::atomic<int>> processed(ready_at.size());
  std::vector<int> priorities(ready_at.size());
  absl::BlockingCounter all(static_cast<int>(ready_at.size()));
  PriorityQueue<int> queue;
  Threads threads;
  threads.Start(kThreads, [&](int) {
    while (const auto item = queue.GetWithPriority()) {
      EXPECT_GE(absl::ToUnixNanos(RealClock()->TimeNow()),
                ready_at[item->item]);
      EXPECT_EQ(++processed[item->item], 1);
      EXPECT_EQ(item->priority, priorities[item->item]);
      EXPECT_TRUE(queue.Done(item->item));
      all.DecrementCount();
    }
  });
  threads.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kItemsOfEach; ++i) {
      const int item = p * kItemsOfEach + i;
      const AddOptions options = AnyOptions(random);
      priorities[item] = options.priority;
      // The clock advances in the meantime, so the queue's own time is not
      // earlier than this.
      ready_at[item] =
          absl::ToUnixNanos(RealClock()->TimeNow() +
                            options.after.value_or(absl::ZeroDuration()));
      EXPECT_TRUE(Add(queue, options, item));
    }
  });
  all.Wait();
  queue.ShutDown();
  threads.Join();
  EXPECT_EQ(queue.Len(), 0u);
}

// All threads move and cancel waiting items and raise their priorities. At the
// end every item can still be handed out.
TEST(PriorityQueueStressTest, ConcurrentMovesAndCancels) {
  constexpr int kItems = 50, kThreads = 4, kOperations = 20000;
  FakeClock clock;
  PriorityQueueOptions<int> options;
  options.clock = &clock;
  PriorityQueue<int> queue(std::move(options));
  Threads threads;
  threads.Start(kThreads, [&](int t) {
    std::mt19937 random(t);
    for (int i = 0; i < kOperations; ++i) {
      const int item = static_cast<int>(random() % kItems);
      switch (random() % 6) {
        case 0:
        case 1:
          EXPECT_TRUE(Add(queue, AnyOptions(random), item));
          break;
        case 2:
          EXPECT_TRUE(queue.Reschedule(
              item, absl::Microseconds(static_cast<int>(random() % 3000))));
          break;
        case 3:
          queue.CancelDelayed(item);
          break;
        case 4:
          if (absl::StatusOr<int> got = queue.TryGet(); got.ok()) {
            EXPECT_TRUE(queue.Done(*got));
          }
          break;
        case 5:
          if (i % 50 == 0) clock.Step(absl::Microseconds(500));
          if (i % 100 == 0) queue.TakeSnapshot().IgnoreError();
      }
    }
  });
  threads.Join();
  for (int i = 0; i < kItems; ++i) EXPECT_TRUE(Add(queue, AddOptions(), i));
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kItems));
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kItems));
}

TEST(PriorityQueueStressTest, ShutDownAtAnyTime) {
  ExpectShutDownAtAnyTime(
      /*rounds=*/100, [] { return std::make_unique<PriorityQueue<int>>(); },
      AddAny, LeaseAndGet,
      [](PriorityQueue<int>& queue, Debts&) {
        EXPECT_FALSE(queue.AddAfter(0, absl::ZeroDuration()));
      });
}

TEST(PriorityQueueStressTest, NoWakeUpIsLost) {
  PriorityQueue<int> ping, pong;
  ExpectNoWakeUpIsLost(ping, pong, [](auto& from, auto& to, auto& random) {
    const auto token = from.GetWithPriority();
    if (!token) return false;
    from.Done(token->item);
    AddOptions options;
    options.priority = static_cast<int>(random() % 3);
    if (random() % 4 == 0) options.after = absl::Microseconds(1);
    Add(to, options, token->item);
    return true;
  });
}

// Returns how often threads of this process have gone to sleep.
int64_t Sleeps() {
  rusage usage;
  EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_nvcsw;
}

// Tests for controller-runtime#3415. With a thousand blocked workers, an
// addition must wake only the worker that gets the item. If it woke all
// workers, each would go to sleep again.
TEST(PriorityQueueStressTest, AnAddWakesOneOfAThousandBlockedWorkers) {
  constexpr int kWorkers = 1000, kAdds = 1000, kAtOnce = 5;
  PriorityQueue<int> queue;
  absl::BlockingCounter started(kWorkers);
  std::atomic<int> gets{0};
  absl::Mutex mu;
  int processed = 0;  // guarded by mu
  Threads workers;
  workers.Start(kWorkers, [&](int) {
    started.DecrementCount();
    while (const auto item = queue.GetWithPriority()) {
      ++gets;
      EXPECT_TRUE(queue.Done(item->item));
      internal::MutexLock lock(&mu);
      ++processed;
    }
  });
  started.Wait();
  const int64_t sleeps_before = Sleeps();
  for (int i = 0; i < kAdds; ++i) {
    for (int j = 0; j < kAtOnce; ++j) {
      AddOptions options;
      options.priority = j;
      EXPECT_TRUE(Add(queue, options, kAtOnce * i + j));
    }
    const int expected = kAtOnce * (i + 1);
    const auto all = [&] { return processed == expected; };
    internal::MutexLock lock(&mu);
    mu.Await(absl::Condition(&all));
  }
  const int64_t sleeps = Sleeps() - sleeps_before;
  EXPECT_EQ(gets, kAdds * kAtOnce);
  // The limit allows for workers that were not asleep at first and for some
  // contention.
  EXPECT_LT(sleeps, kWorkers + 10 * kAdds * kAtOnce);
  RecordProperty("sleeps", static_cast<int>(sleeps));
  queue.ShutDown();
  workers.Join();
}

}  // namespace
}  // namespace workqueue::priority_queue_stress_test
