// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Many threads on a delaying queue.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "clock/clock.h"
#include "clock/fake_clock.h"
#include "gtest/gtest.h"
#include "test/stress/ledger.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/waiting_loop.h"

namespace workqueue {
namespace {

clocks::Clock* RealClock() { return clocks::Clock::GetRealClock(); }

// A delay of up to 3 ms; one in eight is none.
absl::Duration ShortDelay(std::mt19937& random) {
  if (random() % 8 == 0) return absl::ZeroDuration();
  return absl::Microseconds(static_cast<int>(random() % 3000));
}

void Produce(DelayingInterface<int>& queue, Ledger& ledger, int items, int adds,
             int seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < adds; ++i) {
    const int item = static_cast<int>(random() % items);
    const int64_t addition = ledger.Adding(item);
    if (queue.AddAfter(item, ShortDelay(random))) {
      ledger.Added(item, addition);
    } else {
      EXPECT_TRUE(queue.ShuttingDown());
    }
  }
}

void Consume(DelayingInterface<int>& queue, Ledger& ledger) {
  while (std::optional<int> item = queue.Get()) {
    ledger.Begin(*item);
    std::this_thread::yield();
    ledger.End(*item);
    EXPECT_TRUE(queue.Done(*item));
  }
}

TEST(DelayingQueueStressTest, NoAdditionIsLostAndNoItemShared) {
  constexpr int kItems = 64, kThreads = 4, kAdds = 20000;
  Ledger ledger(kItems);
  DelayingQueue<int> queue;
  Threads producers, consumers;
  consumers.Start(kThreads, [&](int) { Consume(queue, ledger); });
  producers.Start(kThreads,
                  [&](int p) { Produce(queue, ledger, kItems, kAdds, p); });
  producers.Join();
  ledger.AwaitAllProcessed();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  ledger.Close();
  consumers.Join();
  ledger.ExpectAllProcessed();
}

// Each item is added once, and none comes early.
TEST(DelayingQueueStressTest, NothingIsEarlyAndNothingIsLost) {
  constexpr int kThreads = 4, kItemsOfEach = 10000;
  std::vector<std::atomic<int64_t>> ready_at(kThreads * kItemsOfEach);
  std::vector<std::atomic<int>> processed(ready_at.size());
  absl::BlockingCounter all(static_cast<int>(ready_at.size()));
  DelayingQueue<int> queue;
  Threads threads;
  threads.Start(kThreads, [&](int) {
    while (std::optional<int> item = queue.Get()) {
      EXPECT_GE(absl::ToUnixNanos(RealClock()->TimeNow()), ready_at[*item]);
      EXPECT_EQ(++processed[*item], 1);
      EXPECT_TRUE(queue.Done(*item));
      all.DecrementCount();
    }
  });
  threads.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kItemsOfEach; ++i) {
      const int item = p * kItemsOfEach + i;
      const absl::Duration delay = ShortDelay(random);
      // The clock goes on meanwhile: the queue's own time is not before this.
      ready_at[item] = absl::ToUnixNanos(RealClock()->TimeNow() + delay);
      EXPECT_TRUE(queue.AddAfter(item, delay));
    }
  });
  all.Wait();
  queue.ShutDown();
  threads.Join();
  EXPECT_EQ(queue.Len(), 0u);
}

// Consumers put their items back, and it never ends by itself.
TEST(DelayingQueueStressTest, ItemsGoRound) {
  constexpr int kItems = 32, kRounds = 200;
  std::vector<std::atomic<int>> rounds(kItems);
  std::vector<std::atomic<int>> workers(kItems);
  absl::BlockingCounter all(kItems);
  DelayingQueue<int> queue;
  Threads consumers;
  consumers.Start(4, [&](int c) {
    std::mt19937 random(c);
    while (std::optional<int> item = queue.Get()) {
      EXPECT_EQ(++workers[*item], 1);
      if (++rounds[*item] < kRounds) {
        EXPECT_TRUE(queue.AddAfter(*item, ShortDelay(random)));
        EXPECT_TRUE(queue.AddAfter(*item, ShortDelay(random)));
      } else if (rounds[*item] == kRounds) {
        all.DecrementCount();
      }
      --workers[*item];
      EXPECT_TRUE(queue.Done(*item));
    }
  });
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  all.Wait();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  consumers.Join();
}

// The end comes from several sides, in the midst of it all. What waits is
// dropped; what has been queued is processed.
TEST(DelayingQueueStressTest, TheEndComesAtAnyTime) {
  constexpr int kRounds = 100, kItems = 8, kAdds = 300;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    Ledger ledger(kItems);
    DelayingQueue<int> queue;
    Threads producers, consumers, enders;
    consumers.Start(2, [&](int) { Consume(queue, ledger); });
    producers.Start(2, [&](int p) {
      Produce(queue, ledger, kItems, kAdds, 2 * round + p);
    });
    Produce(queue, ledger, kItems, round * 3, -round);
    const bool drain_only = round % 2 == 0;
    enders.Start(2, [&](int) {
      if (queue.ShutDownWithDrain()) {
        ledger.Close();
      } else {
        EXPECT_FALSE(drain_only) << "nothing else can end a drain";
      }
    });
    if (!drain_only) enders.Start(2, [&](int) { queue.ShutDown(); });
    enders.Join();
    producers.Join();
    consumers.Join();
    EXPECT_EQ(queue.Len(), 0u);
    EXPECT_FALSE(queue.AddAfter(0, absl::ZeroDuration()));
  }
}

// More than the add-channel holds, and nobody takes anything out meanwhile.
TEST(DelayingQueueStressTest, TheAddChannelFillsUpAndEmpties) {
  constexpr int kThreads = 8, kItemsOfEach = 5000;
  DelayingQueue<int> queue;
  Threads producers;
  producers.Start(kThreads, [&](int p) {
    for (int i = 0; i < kItemsOfEach; ++i) {
      EXPECT_TRUE(
          queue.AddAfter(p * kItemsOfEach + i, absl::Microseconds(1 + i % 50)));
    }
  });
  std::vector<bool> came(kThreads * kItemsOfEach);
  for (size_t i = 0; i < came.size(); ++i) {
    const std::optional<int> item = queue.Get();
    ASSERT_TRUE(item.has_value());
    EXPECT_FALSE(came[*item]);
    came[*item] = true;
    queue.Done(*item);
  }
  producers.Join();
}

// Queues come and go on a loop that others go on using.
TEST(DelayingQueueStressTest, QueuesComeAndGoOnASharedLoop) {
  constexpr int kThreads = 4, kQueuesOfEach = 200, kItems = 10;
  const auto loop = std::make_shared<WaitingLoop>(RealClock());
  RecordingMetrics metrics;
  Threads threads;
  threads.Start(kThreads, [&](int t) {
    std::mt19937 random(t);
    for (int q = 0; q < kQueuesOfEach; ++q) {
      DelayingQueueOptions<int> options;
      options.waiting_loop = loop;
      if (q % 2 == 0) {
        options.name = "stress";
        options.metrics_provider = &metrics;
      }
      DelayingQueue<int> queue(std::move(options));
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue.AddAfter(
            i, absl::Microseconds(1 + static_cast<int>(random() % 200))));
      }
      // Some queues see all of their items, some are gone before.
      const int get = static_cast<int>(random() % (kItems + 1));
      for (int i = 0; i < get; ++i) {
        EXPECT_TRUE(queue.Done(*queue.Get()));
      }
      if (random() % 2 == 0) queue.ShutDown();
    }
  });
  threads.Join();
  for (MetricKind kind : kMetricKinds) EXPECT_EQ(metrics.record(kind).live, 0);
}

// Time moves while others add. After a step over the longest delay, all that
// was added before it has come.
TEST(DelayingQueueStressTest, NothingIsLostOnAFakeClock) {
  constexpr int kThreads = 4, kItemsOfEach = 2000;
  clocks::FakeClock clock;
  DelayingQueueOptions<int> options;
  options.clock = &clock;
  DelayingQueue<int> queue(std::move(options));
  Threads producers;
  producers.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kItemsOfEach; ++i) {
      EXPECT_TRUE(queue.AddAfter(p * kItemsOfEach + i, ShortDelay(random)));
      if (i % 100 == 0) clock.Step(absl::Microseconds(100));
    }
  });
  producers.Join();
  clock.Step(absl::Milliseconds(3));
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kThreads * kItemsOfEach));
}

}  // namespace
}  // namespace workqueue
