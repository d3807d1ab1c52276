// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the shutdown and the destruction of a `DelayingQueue`, and of the
// release of its items.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::delaying_queue_shutdown_test {
namespace {

TEST_F(DelayingQueueTest, NothingIsAddedAfterShutDown) {
  queue_.AddAfter("taken in", absl::Seconds(1));
  Settle();
  queue_.AddAfter("not taken in", absl::Seconds(2));
  queue_.ShutDown();
  EXPECT_FALSE(queue_.AddAfter("new", absl::Seconds(1)));
  EXPECT_FALSE(queue_.AddAfter("new", absl::ZeroDuration()));
  EXPECT_FALSE(queue_.Add("new"));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
}

// The counterpart of client-go's TestGarbageCollection.
TEST(DelayingQueueGarbageCollectionTest, ItemsThatLeaveAreReleased) {
  FakeClock clock;
  DelayingQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto item = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = item;
  queue.AddAfter(item, absl::Seconds(2));
  queue.AddAfter(item, absl::Seconds(1));  // The same, earlier.
  item.reset();
  clock.Step(absl::Seconds(1));
  EXPECT_EQ(watched.use_count(), 1) << "it has left the waiting set";
  queue.Done(*queue.Get());
  EXPECT_TRUE(watched.expired());
}

class ShutDownReleasesTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Endings, ShutDownReleasesTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "ShutDownWithDrain" : "ShutDown";
                         });

TEST_P(ShutDownReleasesTest, WhatWaits) {
  FakeClock clock;
  DelayingQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto taken_in = std::make_shared<int>(1);
  auto in_channel = std::make_shared<int>(2);
  queue.AddAfter(taken_in, absl::Seconds(1));
  clock.Step(absl::ZeroDuration());
  queue.AddAfter(in_channel, absl::Seconds(2));
  EXPECT_EQ(taken_in.use_count(), 2);
  EXPECT_EQ(in_channel.use_count(), 2);
  if (GetParam()) {
    queue.ShutDownWithDrain();
  } else {
    queue.ShutDown();
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(taken_in.use_count(), 1);
  EXPECT_EQ(in_channel.use_count(), 1);
}

TEST(DelayingQueueGarbageCollectionTest, ShutDownOfTheQueueBelowReleases) {
  using Item = std::shared_ptr<int>;
  FakeClock clock;
  QueueOptions<Item> options;
  options.clock = &clock;
  auto owned = std::make_unique<Queue<Item>>(std::move(options));
  Queue<Item>* const below = owned.get();
  const auto queue =
      *DelayingQueue<Item>::Create(std::move(owned), On<Item>(&clock));
  auto item = std::make_shared<int>(1);
  queue->AddAfter(item, absl::Hours(1));
  below->ShutDown();
  clock.Step(WaitingLoop::Heartbeat());
  EXPECT_EQ(item.use_count(), 1);
}

TEST_F(DelayingQueueTest, ShutDownFromManyThreadsWhileOthersAdd) {
  std::vector<Thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 500; ++i) {
        if (!queue_.AddAfter(std::to_string(i), i % 5 * kMs)) break;
      }
    });
    threads.emplace_back([this] {
      while (std::optional<std::string> item = queue_.Get()) {
        queue_.Done(*item);
      }
    });
  }
  for (int i = 0; i < 5; ++i) clock_.Step(kMs);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] { queue_.ShutDown(); });
  }
  for (Thread& thread : threads) thread.join();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_FALSE(queue_.AddAfter("a", kMs));
}

TEST_F(DelayingQueueTest, AWorkerMayShutDown) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.AddAfter("b", absl::Seconds(2));
  Thread worker([this] {
    while (std::optional<std::string> item = queue_.Get()) {
      queue_.ShutDown();
      EXPECT_TRUE(queue_.Done(*item));
    }
  });
  clock_.Step(absl::Seconds(1));
  worker.join();
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, DrainWaitsForWhatIsInFlightOnly) {
  queue_.AddAfter("waiting", absl::Seconds(1));
  queue_.Add("in flight");
  queue_.Get();
  std::atomic<bool> done{false};
  auto drained = Async([&] {
    const bool result = queue_.ShutDownWithDrain();
    EXPECT_TRUE(done);
    return result;
  });
  EXPECT_EQ(queue_.Get(), std::nullopt);
  EXPECT_FALSE(queue_.AddAfter("in flight", absl::Seconds(1)));
  done = true;
  queue_.Done("in flight");
  EXPECT_TRUE(drained.get());
}

TEST(DelayingQueueDestructionTest, InAnyState) {
  for (int state = 0; state < 32; ++state) {
    FakeClock clock;
    DelayingQueue<std::string> queue(On<std::string>(&clock));
    if (state & 1) queue.AddAfter("due", absl::Seconds(1));
    if (state & 2) clock.Step(absl::Seconds(1));
    if (state & 4) queue.AddAfter("waiting", absl::Seconds(2));
    if (state & 8) {
      queue.Add("processing");
      queue.Get();
    }
    if (state & 16) queue.AddAfter("in the channel", absl::Seconds(3));
    if (state % 3 == 0) queue.ShutDown();
  }
}

TEST(DelayingQueueDestructionTest, OnTheRealClock) {
  for (int i = 0; i < 100; ++i) {
    DelayingQueue<int> queue;
    if (i % 2 == 0) queue.AddAfter(i, i % 4 * kMs);
    if (i % 3 == 0) queue.AddAfter(i, absl::Hours(1));
    if (i % 5 == 0) queue.ShutDown();
  }
}

TEST(DelayingQueueDestructionTest, LeavesNobodyOnTheClock) {
  FakeClock clock;
  {
    DelayingQueue<int> queue(On<int>(&clock));
    queue.AddAfter(1, absl::Hours(1));
  }
  EXPECT_FALSE(clock.HasWaiters());
  clock.Step(absl::Hours(1));
}

}  // namespace
}  // namespace workqueue::delaying_queue_shutdown_test
