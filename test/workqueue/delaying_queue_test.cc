// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/delaying_queue.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "workqueue/clock/clock.h"
#include "workqueue/testing/thread.h"

namespace workqueue::delaying_queue_test {
namespace {

// -----------------------------------------------------------------------------
// The tests of client-go's delaying_queue_test.go, under their names
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueTest, SimpleQueue) {
  queue_.AddAfter("foo", 50 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(absl::Seconds(10));  // Past the next heartbeat.
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, Deduping) {
  queue_.AddAfter("foo", 50 * kMs);
  Settle();
  queue_.AddAfter("foo", 70 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(20 * kMs);
  EXPECT_EQ(queue_.Len(), 0u) << "the later time did not count";

  queue_.AddAfter("foo", 50 * kMs);
  queue_.AddAfter("foo", 30 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(40 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(20 * kMs);
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(DelayingQueueTest, AddTwoFireEarly) {
  queue_.AddAfter("foo", absl::Seconds(1));
  queue_.AddAfter("bar", 50 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(60 * kMs);
  EXPECT_EQ(TakeAll(queue_), Strings{"bar"});
  queue_.AddAfter("baz", absl::Seconds(2));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"foo"});
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeAll(queue_), Strings{"baz"});
}

TEST_F(DelayingQueueTest, CopyShifting) {
  queue_.AddAfter("foo", absl::Seconds(1));
  queue_.AddAfter("bar", 500 * kMs);
  queue_.AddAfter("baz", 250 * kMs);
  Settle();
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(TakeAll(queue_), (Strings{"baz", "bar", "foo"}));
}

// -----------------------------------------------------------------------------
// When items are added
// -----------------------------------------------------------------------------

TEST_F(DelayingQueueTest, NeverEarly) {
  const absl::Duration delays[] = {kNs,
                                   absl::Microseconds(1),
                                   kMs,
                                   absl::Seconds(1),
                                   absl::Seconds(10),
                                   absl::Hours(1),
                                   absl::Hours(24 * 365 * 100)};
  for (absl::Duration delay : delays) {
    EXPECT_TRUE(queue_.AddAfter("a", delay));
    clock_.Step(delay - kNs);
    EXPECT_EQ(queue_.Len(), 0u) << delay;
    clock_.Step(kNs);
    EXPECT_EQ(TakeAll(queue_), Strings{"a"}) << delay;
  }
}

TEST_F(DelayingQueueTest, NeverForAnInfiniteDelay) {
  EXPECT_TRUE(queue_.AddAfter("never", absl::InfiniteDuration()));
  EXPECT_TRUE(queue_.AddAfter("sometime", absl::Hours(1)));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"sometime"});
  clock_.Step(absl::Hours(24 * 365 * 200));
  EXPECT_EQ(queue_.Len(), 0u);
  EXPECT_TRUE(queue_.AddAfter("never", absl::Seconds(1)));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"never"}) << "the earlier time counts";
}

TEST_F(DelayingQueueTest, TheEarliestTimeCountsInWhicheverOrder) {
  for (bool settle : {false, true}) {
    std::vector<int> seconds = {1, 2, 3, 4};
    do {
      for (int s : seconds) {
        EXPECT_TRUE(queue_.AddAfter("a", absl::Seconds(s)));
        if (settle) Settle();
      }
      clock_.Step(absl::Seconds(1) - kNs);
      ASSERT_EQ(queue_.Len(), 0u);
      clock_.Step(kNs);
      ASSERT_EQ(TakeAll(queue_), Strings{"a"});
      clock_.Step(absl::Seconds(9));
      ASSERT_EQ(queue_.Len(), 0u);
    } while (std::next_permutation(seconds.begin(), seconds.end()));
  }
}

TEST_F(DelayingQueueTest, EqualTimesAreFirstInFirstOut) {
  Strings items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(std::to_string(i));
    queue_.AddAfter(items.back(), absl::Seconds(10));
    if (i % 3 == 0) Settle();
  }
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(TakeAll(queue_), items);
}

TEST_F(DelayingQueueTest, EqualTimesAreFirstInFirstOutWhateverTheDelays) {
  queue_.AddAfter("first", absl::Seconds(10));
  clock_.Step(absl::Seconds(4));
  queue_.AddAfter("second", absl::Seconds(6));
  clock_.Step(absl::Seconds(5));
  queue_.AddAfter("third", absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), (Strings{"first", "second", "third"}));
}

TEST_F(DelayingQueueTest, ManyItemsComeInTheOrderOfTheirTimes) {
  std::mt19937 random(1);
  std::vector<int> delays(3000);
  for (size_t i = 0; i < delays.size(); ++i)
    delays[i] = static_cast<int>(i) + 1;
  std::shuffle(delays.begin(), delays.end(), random);
  DelayingQueue<int> queue(On<int>(&clock_));
  for (int delay : delays) queue.AddAfter(delay, delay * kMs);
  clock_.Step(3000 * kMs);
  std::sort(delays.begin(), delays.end());
  EXPECT_EQ(TakeAll(queue), delays);
}

TEST_F(DelayingQueueTest, AnItemThatIsQueuedAlreadyStaysOnce) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AnItemThatIsProcessedComesBackWhenDone) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  ASSERT_EQ(queue_.Get(), "a");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queue_.Len(), 0u);
  queue_.Done("a");
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AddDoesNotEndTheWaiting) {
  queue_.AddAfter("a", absl::Seconds(1));
  queue_.Add("a");
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(TakeAll(queue_), Strings{"a"});
}

TEST_F(DelayingQueueTest, AnItemCanWaitAgainAndAgain) {
  for (int i = 1; i <= 100; ++i) {
    queue_.AddAfter("a", absl::Seconds(i));
    clock_.Step(absl::Seconds(i));
    ASSERT_EQ(TakeAll(queue_), Strings{"a"});
  }
}

TEST_F(DelayingQueueTest, AStepOverSeveralTimesAddsAllOfThemInOrder) {
  queue_.AddAfter("c", absl::Seconds(30));
  queue_.AddAfter("a", absl::Seconds(10));
  queue_.AddAfter("d", absl::Seconds(40));
  queue_.AddAfter("b", absl::Seconds(20));
  clock_.Step(absl::Seconds(35));
  EXPECT_EQ(TakeAll(queue_), (Strings{"a", "b", "c"}));
}

TEST_F(DelayingQueueTest, ManyThreadsMayAdd) {
  constexpr int kThreads = 8, kItems = 400;
  DelayingQueue<int> queue(On<int>(&clock_));
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, t] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue.AddAfter(t * kItems + i, (1 + i % 7) * kMs));
      }
    });
  }
  for (Thread& thread : threads) thread.join();
  clock_.Step(7 * kMs);
  EXPECT_EQ(queue.Len(), static_cast<size_t>(kThreads * kItems));
}

TEST_F(DelayingQueueTest, AWorkerMayPutItsItemBack) {
  constexpr int kTimes = 5;
  std::vector<absl::Notification> processed(kTimes);
  Thread worker([&] {
    for (int i = 0; i < kTimes; ++i) {
      const std::optional<std::string> item = queue_.Get();
      EXPECT_EQ(item, "a");
      EXPECT_TRUE(queue_.AddAfter(*item, absl::Seconds(1)));
      EXPECT_TRUE(queue_.Done(*item));
      processed[i].Notify();
    }
  });
  queue_.Add("a");
  for (int i = 0; i < kTimes; ++i) {
    processed[i].WaitForNotification();
    EXPECT_EQ(queue_.Len(), 0u);
    clock_.Step(absl::Seconds(1));
  }
  worker.join();
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST(DelayingQueueRealClockTest, NeverEarly) {
  DelayingQueue<int> queue;
  Clock* const clock = Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  for (int i : {3, 1, 2}) queue.AddAfter(i, i * kMs);
  // Their order depends on how long the calls above take.
  for (int n = 0; n < 3; ++n) {
    const std::optional<int> i = queue.Get();
    EXPECT_GE(clock->TimeNow() - start, *i * kMs);
  }
}

}  // namespace
}  // namespace workqueue::delaying_queue_test
