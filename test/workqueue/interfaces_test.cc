// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The promises of interfaces.h, of all the implementations in this library.

#include "workqueue/interfaces.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {
namespace {

constexpr absl::Duration kNs = absl::Nanoseconds(1);

template <typename Offered>
struct Implementation {
  std::string name;
  std::function<std::unique_ptr<Offered>(FakeClock*)> make;
};

template <typename Offered>
void PrintTo(const Implementation<Offered>& implementation, std::ostream* os) {
  *os << implementation.name;
}

template <typename Offered>
std::string NameOf(
    const testing::TestParamInfo<Implementation<Offered>>& info) {
  return info.param.name;
}

template <typename Made, typename Options>
std::unique_ptr<Made> Make(FakeClock* clock, Options options = {}) {
  options.clock = clock;
  return std::make_unique<Made>(std::move(options));
}

std::unique_ptr<Queue<std::string>> MakeQueue(FakeClock* clock) {
  return Make<Queue<std::string>, QueueOptions<std::string>>(clock);
}

std::unique_ptr<Queue<std::string>> MakeOrderedQueue(FakeClock* clock) {
  QueueOptions<std::string> options;
  options.ordering = std::make_unique<WatchedFifo<std::string>>();
  return Make<Queue<std::string>>(clock, std::move(options));
}

std::unique_ptr<DelayingQueue<std::string>> MakeDelayingQueue(
    FakeClock* clock) {
  return Make<DelayingQueue<std::string>, DelayingQueueOptions<std::string>>(
      clock);
}

std::unique_ptr<RateLimitingQueue<std::string>> MakeRateLimitingQueue(
    FakeClock* clock) {
  return Make<RateLimitingQueue<std::string>,
              RateLimitingQueueOptions<std::string>>(clock);
}

// -----------------------------------------------------------------------------
// Interface
// -----------------------------------------------------------------------------

class InterfaceTest
    : public testing::TestWithParam<Implementation<Interface<std::string>>> {
 protected:
  // Blocks until a shutdown has begun, on another thread. Nothing is queued.
  void AwaitShutDown() { EXPECT_EQ(queue_->Get(), std::nullopt); }

  // Starts `ShutDownWithDrain()` on another thread, and returns its result.
  std::future<bool> StartDrain() {
    return std::async(std::launch::async,
                      [this] { return queue_->ShutDownWithDrain(); });
  }

  FakeClock clock_;
  const std::unique_ptr<Interface<std::string>> queue_ =
      GetParam().make(&clock_);
};

INSTANTIATE_TEST_SUITE_P(
    All, InterfaceTest,
    testing::Values(Implementation<Interface<std::string>>{"Queue", MakeQueue},
                    Implementation<Interface<std::string>>{"OrderedQueue",
                                                           MakeOrderedQueue},
                    Implementation<Interface<std::string>>{"DelayingQueue",
                                                           MakeDelayingQueue},
                    Implementation<Interface<std::string>>{
                        "RateLimitingQueue", MakeRateLimitingQueue}),
    NameOf<Interface<std::string>>);

TEST_P(InterfaceTest, IsEmptyAtFirst) {
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_FALSE(queue_->ShuttingDown());
}

TEST_P(InterfaceTest, HandsItemsOutInTheOrderOfAddition) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue_->Add(std::to_string(i)));
  EXPECT_EQ(queue_->Len(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue_->Get(), std::to_string(i));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(InterfaceTest, AnItemAddedSeveralTimesIsProcessedOnce) {
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("b"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a") << "it keeps its place";
  EXPECT_EQ(queue_->Get(), "b");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(InterfaceTest, AnItemAddedWhileItIsProcessedIsProcessedAgain) {
  queue_->Add("a");
  queue_->Add("b");
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(queue_->Len(), 1u) << "not before Done()";
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "b") << "it goes to the end";
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u) << "once, however often it was added";
}

TEST_P(InterfaceTest, ItemsAddedWhileProcessedComeBackInTheOrderOfDone) {
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  for (const char* item : {"a", "b", "c"}) ASSERT_EQ(queue_->Get(), item);
  for (const char* item : {"a", "b", "c"}) queue_->Add(item);
  for (const char* item : {"b", "c", "a"}) EXPECT_TRUE(queue_->Done(item));
  for (const char* item : {"b", "c", "a"}) EXPECT_EQ(queue_->Get(), item);
}

TEST_P(InterfaceTest, AnItemCanBeAddedAgainOnceItIsDone) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(queue_->Add("a"));
    EXPECT_EQ(queue_->Len(), 1u);
    EXPECT_EQ(queue_->Get(), "a");
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_TRUE(queue_->Done("a"));
  }
}

TEST_P(InterfaceTest, DoneIgnoresWhatIsNotBeingProcessed) {
  EXPECT_FALSE(queue_->Done("a")) << "never added";
  queue_->Add("a");
  EXPECT_FALSE(queue_->Done("a")) << "queued";
  EXPECT_EQ(queue_->Len(), 1u);
  ASSERT_EQ(queue_->Get(), "a");
  EXPECT_FALSE(queue_->Done("b")) << "another one";
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a")) << "done already";
  queue_->Add("a");
  EXPECT_FALSE(queue_->Done("a")) << "queued again";
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
}

// The second Done() of a careless worker does no harm to an item that has come
// back.
TEST_P(InterfaceTest, DoneTwiceLeavesAnItemThatCameBackQueued) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_FALSE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_P(InterfaceTest, GetBlocksUntilThereIsAnItem) {
  auto got = std::async(std::launch::async, [this] { return queue_->Get(); });
  EXPECT_TRUE(queue_->Add("a"));
  EXPECT_EQ(got.get(), "a");
}

TEST_P(InterfaceTest, EachAddServesOneGet) {
  constexpr int kGetters = 8;
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < kGetters; ++i) {
    getters.push_back(
        std::async(std::launch::async, [this] { return queue_->Get(); }));
  }
  for (int i = 0; i < kGetters; ++i) queue_->Add(std::to_string(i));
  std::vector<bool> seen(kGetters);
  for (auto& getter : getters) seen[std::stoi(*getter.get())] = true;
  EXPECT_EQ(seen, std::vector<bool>(kGetters, true));
}

TEST_P(InterfaceTest, DoneServesAGetIfTheItemComesBack) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto got = std::async(std::launch::async, [this] { return queue_->Get(); });
  queue_->Add("a");
  queue_->Done("a");
  EXPECT_EQ(got.get(), "a");
}

TEST_P(InterfaceTest, NothingIsAddedAfterShutDown) {
  queue_->Add("queued");
  queue_->Add("processing");
  ASSERT_EQ(queue_->Get(), "queued");
  ASSERT_EQ(queue_->Get(), "processing");
  queue_->Done("queued");
  queue_->Add("queued");
  queue_->ShutDown();
  EXPECT_TRUE(queue_->ShuttingDown());
  for (const char* item : {"new", "queued", "processing"}) {
    EXPECT_FALSE(queue_->Add(item)) << item;
  }
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(queue_->Get(), "queued");
  EXPECT_TRUE(queue_->Done("processing"));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(InterfaceTest, WhatIsQueuedIsHandedOutAfterShutDown) {
  queue_->Add("a");
  queue_->Add("b");
  queue_->ShutDown();
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), "b");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_FALSE(queue_->Done("b"));
}

TEST_P(InterfaceTest, AnItemAddedAgainBeforeShutDownIsProcessedAfterIt) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  queue_->ShutDown();
  EXPECT_EQ(queue_->Get(), std::nullopt) << "not before Done()";
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), "a");
  queue_->Done("a");
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(InterfaceTest, ShutDownEndsEveryGet) {
  std::vector<std::future<std::optional<std::string>>> getters;
  for (int i = 0; i < 8; ++i) {
    getters.push_back(
        std::async(std::launch::async, [this] { return queue_->Get(); }));
  }
  queue_->ShutDown();
  for (auto& getter : getters) EXPECT_EQ(getter.get(), std::nullopt);
}

TEST_P(InterfaceTest, ShutDownMayBeCalledAgain) {
  queue_->Add("a");
  for (int i = 0; i < 3; ++i) queue_->ShutDown();
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_EQ(queue_->Get(), "a");
  queue_->ShutDown();
  EXPECT_TRUE(queue_->Done("a"));
  queue_->ShutDown();
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  queue_->ShutDown();
}

TEST_P(InterfaceTest, ShutDownMayBeCalledByManyAtOnce) {
  queue_->Add("a");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      queue_->ShutDown();
      EXPECT_TRUE(queue_->ShuttingDown());
      EXPECT_FALSE(queue_->Add("b"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue_->Get(), "a");
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(InterfaceTest, AWorkerMayShutDown) {
  for (int i = 0; i < 10; ++i) queue_->Add(std::to_string(i));
  std::atomic<int> processed{0};
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (std::optional<std::string> item = queue_->Get()) {
        if (*item == "5") queue_->ShutDown();
        ++processed;
        EXPECT_TRUE(queue_->Done(*item));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(processed, 10);
}

TEST_P(InterfaceTest, DrainOfAnIdleQueueDoesNotBlock) {
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_TRUE(queue_->ShuttingDown());
  EXPECT_FALSE(queue_->Add("a"));
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

TEST_P(InterfaceTest, DrainWaitsForWhatIsInFlight) {
  queue_->Add("a");
  queue_->Add("b");
  ASSERT_EQ(queue_->Get(), "a");
  ASSERT_EQ(queue_->Get(), "b");
  std::atomic<bool> all_done{false};
  auto drained = std::async(std::launch::async, [&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_TRUE(all_done);
    return result;
  });
  AwaitShutDown();
  EXPECT_TRUE(queue_->Done("b"));
  EXPECT_FALSE(queue_->Done("b"));
  all_done = true;
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(drained.get());
}

TEST_P(InterfaceTest, DrainWaitsForWhatIsQueued) {
  constexpr int kItems = 50;
  for (int i = 0; i < kItems; ++i) queue_->Add(std::to_string(i));
  std::atomic<int> done{0};
  auto drained = std::async(std::launch::async, [&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_EQ(done, kItems);
    EXPECT_EQ(queue_->Len(), 0u);
    return result;
  });
  while (std::optional<std::string> item = queue_->Get()) {
    ++done;
    queue_->Done(*item);
  }
  EXPECT_TRUE(drained.get());
}

TEST_P(InterfaceTest, DrainWaitsForWhatComesBack) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->Add("a");
  auto drained = StartDrain();
  AwaitShutDown();
  // The drain has an item to wait for after this, though for a moment nobody
  // processes any.
  EXPECT_TRUE(queue_->Done("a"));
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(InterfaceTest, ASpuriousDoneDoesNotEndADrain) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto drained = StartDrain();
  AwaitShutDown();
  EXPECT_FALSE(queue_->Done("b"));
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
}

TEST_P(InterfaceTest, ShutDownEndsADrain) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  auto drained = StartDrain();
  AwaitShutDown();
  queue_->ShutDown();
  EXPECT_FALSE(drained.get());
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_TRUE(queue_->ShutDownWithDrain()) << "there is nothing left";
}

TEST_P(InterfaceTest, DrainAfterShutDownWaitsToo) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->ShutDown();
  std::atomic<bool> done{false};
  auto drained = std::async(std::launch::async, [&] {
    const bool result = queue_->ShutDownWithDrain();
    EXPECT_TRUE(done);
    return result;
  });
  done = true;
  queue_->Done("a");
  EXPECT_TRUE(drained.get());
}

TEST_P(InterfaceTest, SeveralMayDrainAtOnce) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  std::vector<std::future<bool>> drained;
  for (int i = 0; i < 4; ++i) drained.push_back(StartDrain());
  AwaitShutDown();
  queue_->Done("a");
  for (auto& one : drained) EXPECT_TRUE(one.get());
}

TEST_P(InterfaceTest, ManyProducersAndConsumers) {
  constexpr int kProducers = 4, kConsumers = 4, kItems = 10, kAdds = 500;
  std::vector<std::atomic<int>> added(kItems), seen(kItems), workers_on(kItems);
  std::atomic<bool> shared{false};
  std::vector<std::thread> producers, consumers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int i = 0; i < kAdds; ++i) {
        const int item = (i * (p + 1)) % kItems;
        ++added[item];
        EXPECT_TRUE(queue_->Add(std::to_string(item)));
      }
    });
  }
  for (int c = 0; c < kConsumers; ++c) {
    consumers.emplace_back([&] {
      while (std::optional<std::string> got = queue_->Get()) {
        const int item = std::stoi(*got);
        if (++workers_on[item] > 1) shared = true;
        seen[item] = added[item].load();
        --workers_on[item];
        EXPECT_TRUE(queue_->Done(*got));
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_FALSE(shared) << "two workers had an item at the same time";
  for (int i = 0; i < kItems; ++i) {
    EXPECT_EQ(seen[i], added[i]) << "an addition of " << i << " went unseen";
  }
}

TEST_P(InterfaceTest, CanBeDestroyedInAnyState) {
  for (int adds = 0; adds < 3; ++adds) {
    for (int gets = 0; gets <= adds; ++gets) {
      for (bool again : {false, true}) {
        for (bool shut_down : {false, true}) {
          auto queue = GetParam().make(&clock_);
          for (int i = 0; i < adds; ++i) queue->Add(std::to_string(i));
          for (int i = 0; i < gets; ++i) {
            const std::optional<std::string> item = queue->Get();
            if (again) queue->Add(*item);
          }
          if (shut_down) queue->ShutDown();
        }
      }
    }
  }
}

// -----------------------------------------------------------------------------
// DelayingInterface
// -----------------------------------------------------------------------------

class DelayingInterfaceTest
    : public testing::TestWithParam<
          Implementation<DelayingInterface<std::string>>> {
 protected:
  // What is queued, in order; it is done with.
  std::vector<std::string> TakeAll() {
    std::vector<std::string> items;
    while (queue_->Len() > 0) {
      items.push_back(*queue_->Get());
      queue_->Done(items.back());
    }
    return items;
  }

  FakeClock clock_;
  const std::unique_ptr<DelayingInterface<std::string>> queue_ =
      GetParam().make(&clock_);
};

INSTANTIATE_TEST_SUITE_P(All, DelayingInterfaceTest,
                         testing::Values(
                             Implementation<DelayingInterface<std::string>>{
                                 "DelayingQueue", MakeDelayingQueue},
                             Implementation<DelayingInterface<std::string>>{
                                 "RateLimitingQueue", MakeRateLimitingQueue}),
                         NameOf<DelayingInterface<std::string>>);

TEST_P(DelayingInterfaceTest, AddsWhenTheDelayHasPassed) {
  EXPECT_TRUE(queue_->AddAfter("a", absl::Seconds(5)));
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(queue_->Len(), 0u) << "never early";
  clock_.Step(kNs);
  EXPECT_EQ(queue_->Get(), "a");
}

TEST_P(DelayingInterfaceTest, AddsAtOnceForNoDelay) {
  const absl::Duration no_delays[] = {
      absl::ZeroDuration(), -kNs, -absl::Hours(1), -absl::InfiniteDuration()};
  for (absl::Duration no_delay : no_delays) {
    EXPECT_TRUE(queue_->AddAfter("a", no_delay));
    EXPECT_EQ(queue_->Len(), 1u) << no_delay;
    EXPECT_EQ(queue_->Get(), "a");
    queue_->Done("a");
  }
}

TEST_P(DelayingInterfaceTest, TheEarlierTimeCounts) {
  queue_->AddAfter("later first", absl::Seconds(9));
  queue_->AddAfter("later first", absl::Seconds(5));
  queue_->AddAfter("earlier first", absl::Seconds(5));
  queue_->AddAfter("earlier first", absl::Seconds(9));
  clock_.Step(absl::Seconds(5) - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(),
            (std::vector<std::string>{"later first", "earlier first"}));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u) << "the later time no longer counts";
}

TEST_P(DelayingInterfaceTest, WhatWaitsIsDroppedOnShutDown) {
  queue_->AddAfter("a", absl::Seconds(5));
  queue_->ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(DelayingInterfaceTest, DrainDoesNotWaitForWhatWaits) {
  queue_->AddAfter("a", absl::Seconds(5));
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Get(), std::nullopt);
}

TEST_P(DelayingInterfaceTest, TakesNothingAfterShutDown) {
  queue_->ShutDown();
  EXPECT_FALSE(queue_->AddAfter("a", absl::Seconds(5)));
  EXPECT_FALSE(queue_->AddAfter("a", absl::ZeroDuration()));
  EXPECT_FALSE(queue_->AddAfter("a", -absl::Seconds(1)));
  EXPECT_FALSE(queue_->AddAfter("a", absl::InfiniteDuration()));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

}  // namespace
}  // namespace workqueue
