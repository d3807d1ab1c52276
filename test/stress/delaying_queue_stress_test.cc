// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads on a delaying queue.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "test/stress/threads.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::delaying_queue_stress_test {
namespace {

bool AddAfter(DelayingQueue<int>& queue, int item, std::mt19937& random) {
  return queue.AddAfter(item, ShortDelay(random));
}

constexpr absl::Duration kTick = absl::Microseconds(100);

// Returns options with a heap, or with a wheel so small that longer delays go
// through several rings.
DelayingQueueOptions<int> OptionsWithWaitingSet(bool timing_wheel) {
  DelayingQueueOptions<int> options;
  if (timing_wheel) {
    options.waiting_set = *WaitingSetOptions::TimingWheel(kTick, /*slots=*/4);
  }
  return options;
}

class DelayingQueueStressTest : public testing::TestWithParam<bool> {
 protected:
  static DelayingQueueOptions<int> Options() {
    return OptionsWithWaitingSet(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(WaitingSets, DelayingQueueStressTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "TimingWheel" : "Heap";
                         });

TEST_P(DelayingQueueStressTest, NoAdditionIsLostAndNoItemShared) {
  constexpr int kItems = 64, kThreads = 4, kAdds = 10000;
  Debts debts(kItems);
  DelayingQueue<int> queue(Options());
  Threads producers, consumers;
  consumers.Start(kThreads, [&](int) { Consume(queue, debts); });
  producers.Start(kThreads, [&](int p) {
    EXPECT_EQ(Produce(queue, debts, kItems, kAdds, p, AddAfter), kAdds);
  });
  producers.Join();
  debts.AwaitSettled();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
}

// Adds each item once. None may come early.
TEST_P(DelayingQueueStressTest, NothingIsEarlyAndNothingIsLost) {
  constexpr int kThreads = 4, kItemsOfEach = 5000;
  std::vector<std::atomic<int64_t>> ready_at(kThreads * kItemsOfEach);
  std::vector<std::atomic<int>> processed(ready_at.size());
  absl::BlockingCounter all(static_cast<int>(ready_at.size()));
  DelayingQueue<int> queue(Options());
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
      // The clock advances in the meantime, so the queue's own time is not
      // earlier than this.
      ready_at[item] = absl::ToUnixNanos(RealClock()->TimeNow() + delay);
      EXPECT_TRUE(queue.AddAfter(item, delay));
    }
  });
  all.Wait();
  queue.ShutDown();
  threads.Join();
  EXPECT_EQ(queue.Len(), 0u);
}

// Consumers add their items again, so the rounds go on until the test ends
// them.
TEST_P(DelayingQueueStressTest, ItemsAreAddedAgainByConsumers) {
  constexpr int kItems = 32, kRounds = 200;
  std::vector<std::atomic<int>> rounds(kItems);
  std::vector<std::atomic<int>> workers(kItems);
  absl::BlockingCounter all(kItems);
  DelayingQueue<int> queue(Options());
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

TEST_P(DelayingQueueStressTest, ShutDownAtAnyTime) {
  ExpectShutDownAtAnyTime(
      /*rounds=*/60,
      [] { return std::make_unique<DelayingQueue<int>>(Options()); }, AddAfter,
      Consume,
      [](DelayingQueue<int>& queue, Debts&) {
        EXPECT_FALSE(queue.AddAfter(0, absl::ZeroDuration()));
      });
}

// The parameters are the waiting set and add_supersedes_waiting.
class DelayingQueueMovesStressTest
    : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static std::unique_ptr<DelayingQueue<int>> MakeQueue() {
    const auto [timing_wheel, add_supersedes] = GetParam();
    DelayingQueueOptions<int> options = OptionsWithWaitingSet(timing_wheel);
    options.add_supersedes_waiting = add_supersedes;
    return std::make_unique<DelayingQueue<int>>(std::move(options));
  }
};

INSTANTIATE_TEST_SUITE_P(Options, DelayingQueueMovesStressTest,
                         testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& info) {
                           return absl::StrCat(
                               std::get<0>(info.param) ? "TimingWheel" : "Heap",
                               std::get<1>(info.param) ? "AddSupersedes"
                                                       : "AddDoesNot");
                         });

// Does the same as NoAdditionIsLostAndNoItemShared, and also reschedules.
// Rescheduling moves additions but removes none, even if other threads add the
// same item.
TEST_P(DelayingQueueMovesStressTest, NoAdditionIsLostIfItIsRescheduled) {
  constexpr int kItems = 64, kThreads = 4, kAdds = 5000;
  Debts debts(kItems);
  const auto queue = MakeQueue();
  Threads producers, consumers;
  consumers.Start(kThreads, [&](int) { Consume(*queue, debts); });
  const auto add = [](DelayingQueue<int>& queue, int item,
                      std::mt19937& random) {
    const int choice = static_cast<int>(random() % 8);
    if (choice < 1) return queue.Add(item);
    if (choice < 2) return queue.AddAll({item, item});
    if (choice < 4) return queue.AddAfter(item, ShortDelay(random));
    return queue.Reschedule(item, ShortDelay(random));
  };
  producers.Start(kThreads, [&](int p) {
    EXPECT_EQ(Produce(*queue, debts, kItems, kAdds, p, add), kAdds);
  });
  producers.Join();
  debts.AwaitSettled();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
}

// Each producer has its own items. So it knows which additions a successful
// cancel removed: all of its additions since the item came last. Nothing else
// may be lost, whatever other threads and the queue's thread do.
TEST_P(DelayingQueueMovesStressTest, ACancelRemovesOnlyWaitingAdditions) {
  constexpr int kProducers = 4, kItemsOfEach = 16, kAdds = 5000;
  Debts debts(kProducers * kItemsOfEach);
  std::atomic<int> cancelled{0}, came_before{0};
  const auto queue = MakeQueue();
  Threads producers, consumers;
  consumers.Start(4, [&](int) { Consume(*queue, debts); });
  producers.Start(kProducers, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kAdds; ++i) {
      const int item =
          p * kItemsOfEach + static_cast<int>(random() % kItemsOfEach);
      // The debts keep the earlier additions. This addition comes after them.
      const int64_t addition = debts.Adding(item);
      const absl::Duration delay = ShortDelay(random);
      const bool accepted = random() % 2 == 0 ? queue->AddAfter(item, delay)
                                              : queue->Reschedule(item, delay);
      EXPECT_TRUE(accepted);
      if (random() % 2 == 0) {
        if (random() % 4 == 0) std::this_thread::yield();
        if (queue->CancelDelayed(item)) {
          // The item must still be processed for the earlier additions.
          ++cancelled;
          EXPECT_TRUE(random() % 2 == 0
                          ? queue->Reschedule(item, ShortDelay(random))
                          : queue->Add(item));
        } else {
          // The item is queued or has been processed, so the addition counts.
          ++came_before;
        }
      }
      debts.Added(item, addition);
    }
  });
  producers.Join();
  debts.AwaitSettled();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
  EXPECT_GT(cancelled, 0);
  EXPECT_GT(came_before, 0);
}

// Each item is either handed out or cancelled, exactly once. Some items are
// cancelled exactly when they are due.
TEST_P(DelayingQueueMovesStressTest, AnItemIsHandedOutOrCancelled) {
  constexpr int kThreads = 4, kItemsOfEach = 5000;
  constexpr int kItems = kThreads * kItemsOfEach;
  // how often each item was handed out or cancelled
  std::vector<std::atomic<int>> ends(kItems);
  absl::BlockingCounter all(kItems);
  const auto queue = MakeQueue();
  Threads consumers, producers;
  consumers.Start(kThreads, [&](int) {
    while (std::optional<int> item = queue->Get()) {
      EXPECT_EQ(++ends[*item], 1);
      EXPECT_TRUE(queue->Done(*item));
      all.DecrementCount();
    }
  });
  producers.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    const auto cancel = [&](int item) {
      if (!queue->CancelDelayed(item)) return;
      EXPECT_EQ(++ends[item], 1);
      all.DecrementCount();
    };
    for (int i = 0; i < kItemsOfEach; ++i) {
      const int item = p * kItemsOfEach + i;
      EXPECT_TRUE(queue->AddAfter(
          item, absl::Microseconds(1 + static_cast<int>(random() % 300))));
      // One of the latest items.
      const int other = item - static_cast<int>(random() % 64);
      if (other >= p * kItemsOfEach) cancel(other);
    }
  });
  producers.Join();
  all.Wait();
  EXPECT_FALSE(queue->CancelDelayed(0));
  queue->ShutDown();
  consumers.Join();
}

// An item that is rescheduled again and again comes only after the last call,
// and not before its last time.
TEST_P(DelayingQueueMovesStressTest, NothingIsEarlyHoweverOftenItIsMoved) {
  constexpr int kThreads = 4, kItemsOfEach = 500, kMoves = 10;
  std::vector<std::atomic<int64_t>> ready_at(kThreads * kItemsOfEach);
  absl::BlockingCounter all(kThreads * kItemsOfEach);
  const auto queue = MakeQueue();
  Threads threads;
  threads.Start(kThreads, [&](int) {
    while (std::optional<int> item = queue->Get()) {
      EXPECT_GE(absl::ToUnixNanos(RealClock()->TimeNow()), ready_at[*item]);
      EXPECT_TRUE(queue->Done(*item));
      all.DecrementCount();
    }
  });
  threads.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kItemsOfEach; ++i) {
      const int item = p * kItemsOfEach + i;
      // Nothing may come before the last move.
      EXPECT_TRUE(queue->AddAfter(item, absl::Hours(1)));
      for (int move = 0; move < kMoves; ++move) {
        EXPECT_TRUE(queue->Reschedule(
            item, absl::Hours(1 + static_cast<int>(random() % 100))));
      }
      const absl::Duration delay = ShortDelay(random);
      ready_at[item] = absl::ToUnixNanos(RealClock()->TimeNow() + delay);
      EXPECT_TRUE(queue->Reschedule(item, delay));
    }
  });
  all.Wait();
  queue->ShutDown();
  threads.Join();
  EXPECT_EQ(queue->Len(), 0u);
}

// The queue ends while other threads cancel and reschedule.
TEST_P(DelayingQueueMovesStressTest, ShutDownAtAnyTime) {
  constexpr int kRounds = 30, kItems = 8, kMoves = 300;
  for (int round = 0; round < kRounds; ++round) {
    const auto queue = MakeQueue();
    Threads threads;
    threads.Start(2, [&](int t) {
      std::mt19937 random(2 * round + t);
      for (int i = 0; i < kMoves; ++i) {
        const int item = static_cast<int>(random() % kItems);
        const absl::Duration delay = ShortDelay(random);
        switch (random() % 4) {
          case 0:
            queue->AddAfter(item, delay);
            break;
          case 1:
            queue->CancelDelayed(item);
            break;
          default:
            if (!queue->Reschedule(item, delay)) {
              EXPECT_TRUE(queue->ShuttingDown());
            }
        }
      }
    });
    threads.Start(2, [&](int) {
      while (std::optional<int> item = queue->Get()) {
        EXPECT_TRUE(queue->Done(*item));
      }
    });
    for (int i = 0; i < round; ++i) queue->Reschedule(i, absl::Milliseconds(1));
    EXPECT_TRUE(queue->ShutDownWithDrain());
    threads.Join();
    EXPECT_EQ(queue->Len(), 0u);
    EXPECT_FALSE(queue->CancelDelayed(0));
    EXPECT_FALSE(queue->Reschedule(0, absl::ZeroDuration()));
  }
}

// Adds more items than the add-channel holds, while no thread takes any.
TEST_P(DelayingQueueStressTest, TheAddChannelFillsUpAndEmpties) {
  constexpr int kThreads = 8, kItemsOfEach = 3000;
  DelayingQueue<int> queue(Options());
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

// Queues are created and destroyed on a loop that other queues keep using.
TEST_P(DelayingQueueStressTest, QueuesAreCreatedAndDestroyedOnASharedLoop) {
  constexpr int kThreads = 4, kQueuesOfEach = 200, kItems = 10;
  const auto loop = std::make_shared<WaitingLoop>(RealClock());
  RecordingMetrics metrics;
  Threads threads;
  threads.Start(kThreads, [&](int t) {
    std::mt19937 random(t);
    for (int q = 0; q < kQueuesOfEach; ++q) {
      DelayingQueueOptions<int> options = Options();
      options.clock = loop;
      if (q % 2 == 0) {
        options.name = "stress";
        options.metrics_provider = &metrics;
      }
      DelayingQueue<int> queue(std::move(options));
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue.AddAfter(
            i, absl::Microseconds(1 + static_cast<int>(random() % 200))));
      }
      // Some queues hand out all their items, and some are destroyed before.
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

// The time moves while other threads add. After a step longer than the longest
// delay plus a tick, everything added before the step has come.
TEST_P(DelayingQueueStressTest, NothingIsLostOnAFakeClock) {
  constexpr int kThreads = 4, kItemsOfEach = 2000;
  FakeClock clock;
  DelayingQueueOptions<int> options = Options();
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
  clock.Step(absl::Milliseconds(3) + kTick);
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kThreads * kItemsOfEach));
}

}  // namespace
}  // namespace workqueue::delaying_queue_stress_test
