// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of many queues that share one thread.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::shared_loop_test {
namespace {

constexpr int kQueues = 100;
constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);

// Returns the number of threads of this program; -1 if the system does not
// tell. The number may include a thread that has just been joined.
int CountThreads() {
#ifdef __linux__
  int threads = 0;
  for (const auto& task : std::filesystem::directory_iterator(
           "/proc/self/task",
           std::filesystem::directory_options::skip_permission_denied)) {
    static_cast<void>(task);
    ++threads;
  }
  return threads;
#else
  return -1;
#endif
}

class SharedLoopTest : public testing::Test {
 protected:
  SharedLoopTest() : loop_(std::make_shared<WaitingLoop>(&clock_)) {}

  template <typename Options>
  Options OnTheLoop() {
    Options options;
    options.clock = loop_;
    return options;
  }

  std::unique_ptr<DelayingQueue<int>> Make() {
    return std::make_unique<DelayingQueue<int>>(
        OnTheLoop<DelayingQueueOptions<int>>());
  }

  std::vector<std::unique_ptr<DelayingQueue<int>>> MakeAll() {
    std::vector<std::unique_ptr<DelayingQueue<int>>> queues;
    for (int i = 0; i < kQueues; ++i) queues.push_back(Make());
    return queues;
  }

  void Settle() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  std::shared_ptr<WaitingLoop> loop_;
};

TEST_F(SharedLoopTest, AHundredQueuesHaveOneThread) {
  Settle();
  const int threads_before = CountThreads();
  auto queues = MakeAll();
  for (auto& queue : queues) queue->AddAfter(1, absl::Seconds(1));
  Settle();
  EXPECT_EQ(clock_.NumWaiters(), 1u);
  EXPECT_LE(CountThreads(), threads_before);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(clock_.NumWaiters(), 1u);
  EXPECT_LE(CountThreads(), threads_before);
  for (auto& queue : queues) EXPECT_EQ(queue->Len(), 1u);
}

// Checks that the test above can fail.
TEST_F(SharedLoopTest, WithoutOneEachHasAThread) {
  Settle();
  const int threads_before = CountThreads();
  std::vector<std::unique_ptr<DelayingQueue<int>>> queues;
  for (int i = 0; i < kQueues; ++i) {
    DelayingQueueOptions<int> options;
    options.clock = &clock_;
    queues.push_back(std::make_unique<DelayingQueue<int>>(std::move(options)));
  }
  Settle();
  EXPECT_EQ(clock_.NumWaiters(), 1u + kQueues);
  if (threads_before > 0) {
    EXPECT_GT(CountThreads(), threads_before + kQueues / 2);
  }
}

TEST_F(SharedLoopTest, EachItemComesInTime) {
  constexpr int kItems = 20;
  auto queues = MakeAll();
  // Each queue has another item due at each millisecond.
  for (int item = 0; item < kItems; ++item) {
    for (int q = 0; q < kQueues; ++q) {
      queues[q]->AddAfter(item, (1 + (item * 7 + q) % kItems) * kMs);
    }
  }
  for (int ms = 1; ms <= kItems; ++ms) {
    clock_.Step(kMs - kNs);
    for (auto& queue : queues) ASSERT_EQ(queue->Len(), 0u);
    clock_.Step(kNs);
    for (int q = 0; q < kQueues; ++q) {
      ASSERT_EQ(queues[q]->Len(), 1u);
      const int item = *queues[q]->Get();
      ASSERT_EQ(1 + (item * 7 + q) % kItems, ms);
      ASSERT_TRUE(queues[q]->Done(item));
    }
  }
}

TEST_F(SharedLoopTest, EachCanCancelAndReschedule) {
  auto queues = MakeAll();
  for (int q = 0; q < kQueues; ++q) {
    for (int item : {1, 2, 3}) queues[q]->AddAfter(item, absl::Seconds(5));
    EXPECT_TRUE(queues[q]->CancelDelayed(1));
    EXPECT_TRUE(queues[q]->Reschedule(2, (1 + q) * kMs));
  }
  Settle();
  for (int q = 0; q < kQueues; ++q) {
    EXPECT_EQ(clock_.GetEarliestWakeupTime(), clock_.TimeNow() + kMs);
    clock_.Step(kMs);
    ASSERT_EQ(queues[q]->Len(), 1u);
    EXPECT_EQ(queues[q]->Get(), 2);
    if (q + 1 < kQueues) {
      EXPECT_EQ(queues[q + 1]->Len(), 0u);
    }
  }
  clock_.Step(absl::Seconds(5));
  for (auto& queue : queues) {
    ASSERT_EQ(queue->Len(), 1u);
    EXPECT_EQ(queue->Get(), 3);
  }
}

TEST_F(SharedLoopTest, OthersGoOnWhenSomeAreDestroyed) {
  auto queues = MakeAll();
  for (auto& queue : queues) {
    for (int second = 1; second <= 10; ++second) {
      queue->AddAfter(second, absl::Seconds(second));
    }
  }
  // Destroys a tenth of the queues each second. Some have items due at that
  // time.
  for (int second = 1; second <= 10; ++second) {
    for (int q = 0; q < kQueues; ++q) {
      if (q % 10 == second - 1) queues[q].reset();
    }
    clock_.Step(absl::Seconds(1));
    for (int q = 0; q < kQueues; ++q) {
      ASSERT_EQ(queues[q] != nullptr, q % 10 >= second);
      if (queues[q] == nullptr) continue;
      ASSERT_EQ(queues[q]->Len(), 1u);
      ASSERT_EQ(queues[q]->Get(), second);
    }
  }
  auto late = Make();
  late->AddAfter(1, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(late->Len(), 1u);
}

TEST_F(SharedLoopTest, OthersGoOnWhenSomeAreShutDown) {
  auto queues = MakeAll();
  for (auto& queue : queues) queue->AddAfter(1, absl::Seconds(1));
  Settle();
  for (int q = 0; q < kQueues; q += 2) queues[q]->ShutDown();
  clock_.Step(absl::Seconds(1));
  for (int q = 0; q < kQueues; ++q) {
    EXPECT_EQ(queues[q]->Len(), q % 2 == 0 ? 0u : 1u);
  }
}

TEST_F(SharedLoopTest, AllKindsOfQueuesShareIt) {
  RecordingMetrics metrics;
  Settle();
  const int threads_before = CountThreads();
  std::vector<std::unique_ptr<Interface<int>>> queues;
  std::vector<DelayingInterface<int>*> delaying;
  for (int i = 0; i < kQueues; ++i) {
    auto options = OnTheLoop<RateLimitingQueueOptions<int>>();
    options.name = "shared";
    options.metrics_provider = &metrics;
    if (i % 3 == 0) {
      queues.push_back(std::make_unique<Queue<int>>(std::move(options)));
    } else if (i % 3 == 1) {
      auto queue = std::make_unique<DelayingQueue<int>>(std::move(options));
      delaying.push_back(queue.get());
      queues.push_back(std::move(queue));
    } else {
      auto queue = std::make_unique<RateLimitingQueue<int>>(std::move(options));
      delaying.push_back(queue.get());
      queues.push_back(std::move(queue));
    }
  }
  Settle();
  EXPECT_EQ(clock_.NumWaiters(), 1u);
  EXPECT_LE(CountThreads(), threads_before);

  // Each one reports the work in progress, twice a second.
  for (auto& queue : queues) {
    queue->Add(1);
    EXPECT_EQ(queue->Get(), 1);
  }
  for (auto* queue : delaying) queue->AddAfter(2, 750 * kMs);
  const size_t before = metrics.values(MetricKind::kUnfinishedWork).size();
  clock_.Step(500 * kMs);
  const auto values = metrics.values(MetricKind::kUnfinishedWork);
  ASSERT_EQ(values.size(), before + kQueues);
  for (size_t i = before; i < values.size(); ++i) EXPECT_EQ(values[i], 0.5);
  clock_.Step(250 * kMs - kNs);
  for (auto* queue : delaying) EXPECT_EQ(queue->Len(), 0u);
  clock_.Step(kNs);
  for (auto* queue : delaying) EXPECT_EQ(queue->Len(), 1u);
}

// A queue that blocks in its queue below blocks the loop. Other queues still
// add and hand out items; only work on the loop waits.
TEST_F(SharedLoopTest, AQueueThatBlocksHoldsUpWhatNeedsTheLoopOnly) {
  absl::Notification blocked, go_on;
  auto options = OnTheLoop<DelayingQueueOptions<int>>();
  auto below = std::make_unique<HookedQueue<int>>(
      [&](int) {
        blocked.Notify();
        go_on.WaitForNotification();
        return true;
      },
      &clock_);
  const auto owned =
      *DelayingQueue<int>::Create(std::move(below), std::move(options));
  auto& blocking = *owned;
  const auto other = Make();
  blocking.AddAfter(1, absl::Seconds(1));
  Settle();
  Thread stepper([this] { clock_.Step(absl::Seconds(1)); });
  blocked.WaitForNotification();

  EXPECT_TRUE(other->Add(1));
  EXPECT_EQ(other->Get(), 1);
  EXPECT_TRUE(other->Done(1));
  EXPECT_TRUE(other->AddAfter(2, absl::Seconds(1)));
  EXPECT_TRUE(other->AddAfter(3, absl::Seconds(1)));
  EXPECT_TRUE(other->AddAfter(4, absl::Seconds(9)));
  EXPECT_TRUE(other->CancelDelayed(3));
  EXPECT_TRUE(other->Reschedule(4, absl::Seconds(1)));
  const auto late = Make();
  EXPECT_TRUE(late->AddAfter(5, absl::Seconds(1)));
  Make();  // The new queue is destroyed, too. That waits only for its own runs.
  go_on.Notify();
  stepper.join();

  EXPECT_EQ(blocking.Len(), 1u);
  EXPECT_EQ(other->Len(), 0u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(other->Len(), 2u);
  EXPECT_EQ(other->Get(), 2);
  EXPECT_EQ(other->Get(), 4);
  EXPECT_EQ(late->Len(), 1u);
}

TEST_F(SharedLoopTest, TheLoopEndsWithItsLastQueue) {
  auto queues = MakeAll();
  const std::weak_ptr<WaitingLoop> watched = loop_;
  loop_.reset();
  while (queues.size() > 1) queues.pop_back();
  EXPECT_FALSE(watched.expired());
  Settle();
  EXPECT_EQ(clock_.NumWaiters(), 1u);
  queues.front()->AddAfter(1, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(queues.front()->Len(), 1u);
  queues.clear();
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(clock_.HasWaiters());
}

TEST_F(SharedLoopTest, TheLoopEndsWithItsLastQueueAlsoIfThatHasMetrics) {
  RecordingMetrics metrics;
  auto options = OnTheLoop<DelayingQueueOptions<int>>();
  options.name = "last";
  options.metrics_provider = &metrics;
  auto queue = std::make_unique<DelayingQueue<int>>(std::move(options));
  const std::weak_ptr<WaitingLoop> watched = loop_;
  loop_.reset();
  EXPECT_FALSE(watched.expired());
  queue.reset();
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(clock_.HasWaiters());
}

}  // namespace
}  // namespace workqueue::shared_loop_test
