// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the shutdown and the destruction of a `PriorityQueue`, and of the
// release of its items.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::priority_queue_shutdown_test {
namespace {

TEST_F(PriorityQueueTest, WhatIsQueuedAtShutDownIsHandedOutByPriority) {
  Add(At(1), {"a", "b"});
  Add(At(2), {"c"});
  Take();
  Add(At(5), {"c"});
  Add(At(9, kSecond), {"waits"});
  queue_->ShutDown();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_TRUE(queue_->Done("c"));
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"c", 5}, {"a", 1}, {"b", 1}}));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(queue_->TryGet().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(PriorityQueueTest, DrainWaitsForWhatIsQueuedAndProcessed) {
  Add({}, {"a", "b"});
  Add(After(kSecond), {"waits"});
  Take();
  std::atomic<bool> done{false};
  Thread worker([&] {
    EXPECT_EQ(queue_->Get(), "b");
    EXPECT_TRUE(queue_->Done("b"));
    EXPECT_EQ(queue_->Get(), std::nullopt);  // Shut down.
    done = true;
    EXPECT_TRUE(queue_->Done("a"));
  });
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  EXPECT_TRUE(done);
  worker.join();
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest, DrainIsOverAtItsDeadline) {
  Add({}, {"a"});
  EXPECT_FALSE(queue_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  EXPECT_TRUE(queue_->ShuttingDown());
  Thread drain(
      [this] { EXPECT_FALSE(queue_->ShutDownWithDrainWithin(kSecond)); });
  clock_.AwaitWaiters(2);
  clock_.Step(kSecond);
  drain.join();
  queue_->Done(Take().first);
  EXPECT_TRUE(queue_->ShutDownWithDrain());
}

class PriorityQueueEndTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Endings, PriorityQueueEndTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "ShutDownWithDrain" : "ShutDown";
                         });

TEST_P(PriorityQueueEndTest, ReleasesWhatWaits) {
  FakeClock clock;
  PriorityQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  std::vector<std::shared_ptr<int>> items;
  for (int i = 0; i < 300; ++i) items.push_back(std::make_shared<int>(i));
  queue.AddWithOptions(After(kSecond), items);
  queue.AddAfter(items[0], absl::InfiniteDuration());
  queue.Add(items[1]);
  queue.Add(items[2]);
  queue.Get();
  queue.AddAfter(items[1], kSecond);  // While it is being processed.
  queue.Done(*queue.Get());
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(items[0].use_count(), 2);
  EXPECT_EQ(items[2].use_count(), 1);
  if (GetParam()) {
    EXPECT_FALSE(queue.ShutDownWithDrainWithin(absl::ZeroDuration()));
  } else {
    queue.ShutDown();
  }
  clock.Step(absl::ZeroDuration());
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].use_count(), i == 1 ? 2 : 1) << i;
  }
  EXPECT_TRUE(queue.Done(items[1]));
  EXPECT_EQ(items[1].use_count(), 1);
}

TEST(PriorityQueueMemoryTest, AnItemIsReleasedWhenItLeaves) {
  FakeClock clock;
  PriorityQueue<std::shared_ptr<int>> queue(On<std::shared_ptr<int>>(&clock));
  auto item = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = item;
  queue.AddAfter(item, 2 * kSecond);
  queue.AddAfter(item, kSecond);
  item.reset();
  EXPECT_EQ(watched.use_count(), 1) << "it is stored once";
  clock.Step(kSecond);
  EXPECT_EQ(watched.use_count(), 1);
  queue.Done(*queue.Get());
  EXPECT_TRUE(watched.expired());
  item = std::make_shared<int>(2);
  queue.AddAfter(item, kSecond);
  EXPECT_TRUE(queue.CancelDelayed(item));
  EXPECT_EQ(item.use_count(), 1);
}

TEST(PriorityQueueDestructionTest, InAnyState) {
  const int live_before = FragileKey::live();
  for (int state = 0; state < 32; ++state) {
    FakeClock clock;
    PriorityQueue<FragileKey, FragileHash, FragileEq> queue(
        On<FragileKey>(&clock));
    if (state & 1) queue.AddAfter(FragileKey(1), kSecond);
    if (state & 2) clock.Step(kSecond);
    if (state & 4) queue.AddAfter(FragileKey(2), 2 * kSecond);
    if (state & 8) {
      queue.Add(FragileKey(3));
      queue.Get();
    }
    if (state & 16) queue.AddAfter(FragileKey(3), 3 * kSecond);
    if (state % 3 == 0) queue.ShutDown();
  }
  EXPECT_EQ(FragileKey::live(), live_before);
}

}  // namespace
}  // namespace workqueue::priority_queue_shutdown_test
