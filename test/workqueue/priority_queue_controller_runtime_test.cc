// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tests of controller-runtime's priorityqueue_test.go, under their names.

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "test/workqueue/priority_queue_fixture.h"
#include "test/workqueue/scripted_limiter.h"
#include "workqueue/priority_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue::priority_queue_controller_runtime_test {
namespace {

// A getter on its own thread.
class Getter {
 public:
  explicit Getter(PriorityInterface<std::string>& queue)
      : thread_([this, &queue] {
          got_ = queue.GetWithPriority();
          returned_.Notify();
        }) {}
  ~Getter() { thread_.join(); }

  bool HasReturned() const { return returned_.HasBeenNotified(); }
  std::optional<std::string> AwaitItem() {
    returned_.WaitForNotification();
    if (!got_.has_value()) return std::nullopt;
    return got_->item;
  }

 private:
  absl::Notification returned_;
  std::optional<ItemWithPriority<std::string>> got_;
  Thread thread_;
};

TEST_F(PriorityQueueTest, ReturnsAnItem) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_EQ(retries(), 0);
}

TEST_F(PriorityQueueTest, ReturnsItemsInOrder) {
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, DoesNotReturnAnItemThatIsCurrentlyLocked) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, ReturnsAnItemAsSoonAsItIsUnlocked) {
  Add({}, {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  Add({}, {"bar"});
  EXPECT_EQ(Take(), Taken("bar", 0));
  Add({}, {"baz"});
  queue_->Done("foo");
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 4);
}

TEST_F(PriorityQueueTest, DeDuplicatesItems) {
  Add({}, {"foo"});
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_TRUE(queue_->TakeSnapshot()->processing.empty());
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, EnqueuesALockedItem) {
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(Take(), Taken("foo", 0));
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 0u) << "there: 1, but no get would have it";
  queue_->Done("foo");
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, RetainsTheHighestPriority) {
  Add(At(1), {"foo"});
  Add(At(2), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 2));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{1, 0}, {2, 0}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, WillNotDecreaseThePriority) {
  Add(At(2), {"foo"});
  Add(At(1), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 2));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{2, 0}}));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, GetsPushedToTheFrontIfThePriorityIncreases) {
  Add({}, {"foo"});
  Add({}, {"bar"});
  Add({}, {"baz"});
  Add(At(1), {"baz"});
  EXPECT_EQ(Take(), Taken("baz", 1));
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(depth(), (Depth{{0, 2}, {1, 0}}));
  EXPECT_EQ(adds(), 3);
}

TEST_F(PriorityQueueTest, RetainsTheLowestAfterDuration) {
  Add(After(absl::ZeroDuration()), {"foo"});
  Add(After(absl::Hours(1)), {"foo"});
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_TRUE(queue_->TakeSnapshot()->waiting.empty());
}

TEST_F(PriorityQueueTest, DoesNotIncludeNonReadyItemsInLen) {
  Add(After(absl::Minutes(1)), {"foo"});
  Add({}, {"baz"});
  Add(After(absl::Minutes(1)), {"bar"});
  Add({}, {"bal"});
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(depth(), (Depth{{0, 2}}));
}

// controller-runtime#3239. Unlike there, queued items are handed out first.
TEST_F(PriorityQueueTest, GetDoesNotGetStuckWhenTheQueueIsShutDown) {
  queue_->Add("baz");
  queue_->ShutDown();
  EXPECT_FALSE(Add(After(kSecond), {"foo"}));
  EXPECT_EQ(Take(), Taken("baz", 0));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
  EXPECT_EQ(queue_->Get(), std::nullopt);
  EXPECT_FALSE(queue_->Acquire().ok());
  EXPECT_TRUE(queue_->Done("baz"));
  EXPECT_EQ(Take(), Taken("<shutdown>", 0));
}

TEST_F(PriorityQueueTest, ReturnsManyItems) {
  constexpr int kItems = 1000, kWorkers = 20;
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kItems; ++i) {
      const int number = static_cast<int>(random() % 100);
      Add(number < 10 ? After(number * kMs) : At(number),
          {"foo" + std::to_string(i)});
    }
    std::vector<Thread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([this] {
        for (int i = 0; i < kItems / kWorkers; ++i) {
          EXPECT_TRUE(queue_->Done(queue_->GetWithPriority()->item));
        }
      });
    }
    for (int i = 0; i < 10; ++i) clock_.Step(kMs);
    for (Thread& worker : workers) worker.join();
    EXPECT_EQ(queue_->Len(), 0u);
  }
}

TEST_F(PriorityQueueTest,
       UpdatesMetricsForAnItemAddedInitiallyWithAfterAndThenWithout) {
  Add(After(absl::Hours(1)), {"foo"});
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), Depth());
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(queue_->Get(), "foo");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest,
       UpdatesMetricsWhenAnItemWithAfterIsReAddedWithHigherPriorityAndNoAfter) {
  Add(At(0, absl::Hours(1)), {"foo"});
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), Depth());
  Add(At(1), {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{1, 1}}));
  EXPECT_EQ(Take(), Taken("foo", 1));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{1, 0}}));
}

TEST_F(PriorityQueueTest, FollowsFifoOrderInTheNewPriorityWhenItChanges) {
  Add(At(0), {"foo"});
  Add(At(1), {"bar"});
  Add(At(1), {"foo"});
  EXPECT_EQ(queue_->Len(), 2u);
  EXPECT_EQ(Take(), Taken("bar", 1));
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(Take(), Taken("foo", 1));
  EXPECT_EQ(queue_->Len(), 0u);
}

TEST_F(PriorityQueueTest,
       HighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes) {
  constexpr int kItemsOfEach = 1000;
  for (absl::Duration after : {-kSecond, absl::ZeroDuration(), kSecond}) {
    const int adds_before = adds();
    for (int i = 0; i < kItemsOfEach; ++i) {
      for (int priority : {10, 5, 0, -5, -10}) {
        Add(At(priority, after),
            {std::to_string(priority) + "-" + std::to_string(i)});
      }
    }
    clock_.Step(kSecond);
    for (int priority : {10, 5, 0, -5, -10}) {
      for (int i = 0; i < kItemsOfEach; ++i) {
        const Taken taken = Take();
        ASSERT_EQ(taken,
                  Taken(std::to_string(priority) + "-" + std::to_string(i),
                        priority));
        queue_->Done(taken.first);
      }
    }
    EXPECT_EQ(depth(), (Depth{{-10, 0}, {-5, 0}, {0, 0}, {5, 0}, {10, 0}}));
    EXPECT_EQ(adds() - adds_before, 5 * kItemsOfEach);
    EXPECT_EQ(retries(), after > absl::ZeroDuration() ? 5 * kItemsOfEach : 0);
  }
}

TEST_F(PriorityQueueTest, ItemIsOnlyReturnedAfterAfterHasPassed) {
  Getter getter(*queue_);
  Add(After(kSecond), {"foo"});
  clock_.Step(kSecond - kNs);
  EXPECT_FALSE(getter.HasReturned());
  EXPECT_EQ(adds(), 0);
  clock_.Step(kNs);
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  EXPECT_EQ(retries(), 1);
}

TEST_F(PriorityQueueTest,
       HighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem) {
  Add(At(-100), {"foo"});
  Add(At(0, kSecond), {"prio"});
  clock_.Step(kSecond);
  EXPECT_EQ(Take(), Taken("prio", 0));
  EXPECT_EQ(depth(), (Depth{{-100, 1}, {0, 0}}));
  EXPECT_EQ(adds(), 2);
  EXPECT_EQ(retries(), 1);
}

TEST_F(PriorityQueueTest, ItemIsReturnedAsSoonAsPossible) {
  Getter getter(*queue_);
  Add({}, {"foo"});
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
}

// The same, but the test knows that the getter is blocked on the clock.
TEST_F(PriorityQueueTest, ABlockedGetterWithADeadlineIsWoken) {
  absl::StatusOr<std::string> got;
  Thread getter([&] { got = queue_->GetWithTimeout(absl::Hours(1)); });
  clock_.AwaitWaiters(2);  // And the queue's own thread.
  Add(At(7), {"foo"});
  getter.join();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, "foo");
}

TEST_F(PriorityQueueTest, WaitingItemIsReturnedRightAfterReAddWithoutAfter) {
  Getter getter(*queue_);
  Add(After(absl::Minutes(1)), {"foo"});
  clock_.Step(absl::ZeroDuration());
  EXPECT_FALSE(getter.HasReturned());
  Add({}, {"foo"});
  EXPECT_EQ(getter.AwaitItem(), "foo");
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 1);
  clock_.Step(absl::Minutes(1));
  EXPECT_EQ(adds(), 1);
}

TEST_F(PriorityQueueTest, MultipleItemsWithAfterAreReturnedInCorrectOrder) {
  Add(After(kSecond), {"foo"});
  Add(After(200 * kMs), {"bar"});
  clock_.Step(kSecond);
  EXPECT_EQ(Take(), Taken("bar", 0));
  EXPECT_EQ(Take(), Taken("foo", 0));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
}

TEST_F(PriorityQueueTest, GetIsUnblockedOnShutDown) {
  Getter getter(*queue_);
  EXPECT_FALSE(getter.HasReturned());
  queue_->ShutDown();
  EXPECT_EQ(getter.AwaitItem(), std::nullopt);
}

TEST_F(PriorityQueueTest, ItemsAreIncludedInLenAndMetricsOnceTheyAreReady) {
  for (int i = 0; i < 2; ++i) {
    Add(After(500 * kMs), {"foo"});
    Add({}, {"baz"});
    Add(After(500 * kMs), {"bar"});
    Add({}, {"bal"});
    EXPECT_EQ(queue_->Len(), 2u);
    EXPECT_EQ(depth(), (Depth{{0, 2}}));
    clock_.Step(kSecond);
    EXPECT_EQ(queue_->Len(), 4u);
    EXPECT_EQ(depth(), (Depth{{0, 4}}));
    EXPECT_EQ(TakeAll().size(), 4u);
    EXPECT_EQ(queue_->Len(), 0u);
    EXPECT_EQ(depth(), (Depth{{0, 0}}));
  }
}

TEST_F(PriorityQueueTest,
       MetricsAreUpdatedForItemWhoseAfterExpiredThatGetsAddedAgainWithout) {
  Add(After(50 * kMs), {"foo"});
  clock_.Step(50 * kMs);
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  Add({}, {"foo"});
  EXPECT_EQ(queue_->Len(), 1u);
  EXPECT_EQ(depth(), (Depth{{0, 1}}));
  EXPECT_EQ(queue_->Get(), "foo");
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
}

TEST_F(PriorityQueueTest,
       WhenAddingMultipleItemsRateLimitedTheyDoNotAffectEachOther) {
  LimiterScript script;
  script.delays = {{"foo", 5 * kMs}, {"bar", 640 * kMs}};
  Make(std::make_unique<ScriptedLimiter>(&script));
  Add(RateLimited(), {"foo", "bar"});
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(5 * kMs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"foo", 0}}));
  clock_.Step(635 * kMs - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(), (std::vector<Taken>{{"bar", 0}}));
  EXPECT_EQ(depth(), (Depth{{0, 0}}));
  EXPECT_EQ(adds(), 2);
  EXPECT_EQ(retries(), 2);
}

// controller-runtime#3538. No thread calls `Done()`, so in the end all threads
// wait. Only the shutdown ends them.
TEST(PriorityQueueShutDownTest, DoesNotDeadlockWhileHandingOutItems) {
  constexpr int kThreads = 20;
  for (int round = 0; round < 50; ++round) {
    PriorityQueue<int> queue;
    std::atomic<int> next{0}, gets{0};
    absl::Notification enough;
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        while (true) {
          const int item = next++;
          const int added = item % 1000;
          queue.AddWithOptions(At(item * 37 % 100),
                               absl::MakeConstSpan(&added, 1));
          if (!queue.GetWithPriority().has_value()) return;
          if (++gets == 5 * round + 1) enough.Notify();
        }
      });
    }
    enough.WaitForNotification();
    queue.ShutDown();
    for (Thread& thread : threads) thread.join();
    EXPECT_EQ(queue.Len(), 0u);
  }
}

}  // namespace
}  // namespace workqueue::priority_queue_controller_runtime_test
