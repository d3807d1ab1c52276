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
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/ledger.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

Clock* RealClock() { return Clock::GetRealClock(); }

// A delay of up to 3 ms; one in eight is none, and one is over at once.
absl::Duration ShortDelay(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return absl::ZeroDuration();
    case 1:
      return absl::Nanoseconds(1);
    default:
      return absl::Microseconds(static_cast<int>(random() % 3000));
  }
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

constexpr absl::Duration kTick = absl::Microseconds(100);

// With a heap, and with a wheel so small that the longer delays go through
// several rings.
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
  Ledger ledger(kItems);
  DelayingQueue<int> queue(Options());
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
TEST_P(DelayingQueueStressTest, ItemsGoRound) {
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

// The end comes from several sides, in the midst of it all. What waits is
// dropped; what has been queued is processed.
TEST_P(DelayingQueueStressTest, TheEndComesAtAnyTime) {
  constexpr int kRounds = 60, kItems = 8, kAdds = 300;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    Ledger ledger(kItems);
    DelayingQueue<int> queue(Options());
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

// With each waiting set, and each value of add_supersedes_waiting.
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

// As NoAdditionIsLostAndNoItemShared, with rescheduling, which moves additions
// but takes none away, whoever else adds the same item.
TEST_P(DelayingQueueMovesStressTest, NoAdditionIsLostIfItIsRescheduled) {
  constexpr int kItems = 64, kThreads = 4, kAdds = 5000;
  Ledger ledger(kItems);
  const auto queue = MakeQueue();
  Threads producers, consumers;
  consumers.Start(kThreads, [&](int) { Consume(*queue, ledger); });
  producers.Start(kThreads, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kAdds; ++i) {
      const int item = static_cast<int>(random() % kItems);
      const int64_t addition = ledger.Adding(item);
      const int choice = static_cast<int>(random() % 8);
      if (choice < 1) {
        EXPECT_TRUE(queue->Add(item));
      } else if (choice < 2) {
        EXPECT_TRUE(queue->AddAll({item, item}));
      } else if (choice < 4) {
        EXPECT_TRUE(queue->AddAfter(item, ShortDelay(random)));
      } else {
        EXPECT_TRUE(queue->Reschedule(item, ShortDelay(random)));
      }
      ledger.Added(item, addition);
    }
  });
  producers.Join();
  ledger.AwaitAllProcessed();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  ledger.Close();
  consumers.Join();
  ledger.ExpectAllProcessed();
}

// Each producer has items of its own, so that it knows what a cancel that took
// something out has undone: all that it added since the item last came. Nothing
// else is lost, whatever the others and the queue's thread do at the time.
TEST_P(DelayingQueueMovesStressTest, ACancelTakesNothingButWhatWaits) {
  constexpr int kProducers = 4, kItemsOfEach = 16, kAdds = 5000;
  Ledger ledger(kProducers * kItemsOfEach);
  std::atomic<int> cancelled{0}, came_before{0};
  const auto queue = MakeQueue();
  Threads producers, consumers;
  consumers.Start(4, [&](int) { Consume(*queue, ledger); });
  producers.Start(kProducers, [&](int p) {
    std::mt19937 random(p);
    for (int i = 0; i < kAdds; ++i) {
      const int item =
          p * kItemsOfEach + static_cast<int>(random() % kItemsOfEach);
      // What has been added before is in the ledger, and stays there: this
      // addition comes after it.
      const int64_t addition = ledger.Adding(item);
      const absl::Duration delay = ShortDelay(random);
      const bool accepted = random() % 2 == 0 ? queue->AddAfter(item, delay)
                                              : queue->Reschedule(item, delay);
      EXPECT_TRUE(accepted);
      if (random() % 2 == 0) {
        if (random() % 4 == 0) std::this_thread::yield();
        if (queue->CancelDelayed(item)) {
          // It is to be processed for the earlier additions all the same.
          ++cancelled;
          EXPECT_TRUE(random() % 2 == 0
                          ? queue->Reschedule(item, ShortDelay(random))
                          : queue->Add(item));
        } else {
          // Then it is queued or has been processed, and counts.
          ++came_before;
        }
      }
      ledger.Added(item, addition);
    }
  });
  producers.Join();
  ledger.AwaitAllProcessed();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  ledger.Close();
  consumers.Join();
  ledger.ExpectAllProcessed();
  EXPECT_GT(cancelled, 0);
  EXPECT_GT(came_before, 0);
}

// Each item either comes or is cancelled: one of the two, and once. Some that
// are cancelled are due at that very time.
TEST_P(DelayingQueueMovesStressTest, AnItemComesOrIsCancelled) {
  constexpr int kThreads = 4, kItemsOfEach = 5000;
  constexpr int kItems = kThreads * kItemsOfEach;
  std::vector<std::atomic<int>> ends(kItems);  // how often it has come to one
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
      // One of the last ones.
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

// Rescheduled again and again, an item comes only when that has ended, and not
// before its last time.
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
      // Not before it has been moved for the last time.
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

// The end comes while others cancel and reschedule.
TEST_P(DelayingQueueMovesStressTest, TheEndComesAtAnyTime) {
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

// More than the add-channel holds, and nobody takes anything out meanwhile.
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

// Queues come and go on a loop that others go on using.
TEST_P(DelayingQueueStressTest, QueuesComeAndGoOnASharedLoop) {
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

// Time moves while others add. After a step over the longest delay, and a tick,
// all that was added before it has come.
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
}  // namespace workqueue
