// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads on a queue.

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/synchronization/blocking_counter.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "test/stress/threads.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/queue.h"

namespace workqueue::queue_stress_test {
namespace {

// First in, first out, like the default ordering.
class Fifo final : public Ordering<int> {
 public:
  void Push(QueuedItem<int>* item) override { items_.push_back(item); }
  size_t Len() const override { return items_.size(); }
  QueuedItem<int>* Pop() override {
    QueuedItem<int>* const item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::deque<QueuedItem<int>*> items_;
};

bool Add(Queue<int>& queue, int item, std::mt19937&) { return queue.Add(item); }

class QueueStressTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Queue<int>> MakeQueue() {
    QueueOptions<int> options;
    if (GetParam()) options.ordering = std::make_unique<Fifo>();
    return std::make_unique<Queue<int>>(std::move(options));
  }
};

INSTANTIATE_TEST_SUITE_P(Orderings, QueueStressTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "WithAnOrdering" : "Fifo";
                         });

// There are few items, so most additions find their item queued or being
// processed.
TEST_P(QueueStressTest, NoAdditionIsLostAndNoItemShared) {
  constexpr int kItems = 16, kProducers = 4, kConsumers = 4, kAdds = 20000;
  Debts debts(kItems);
  const std::unique_ptr<Queue<int>> queue = MakeQueue();
  Threads producers, consumers;
  consumers.Start(kConsumers, [&](int) { Consume(*queue, debts); });
  producers.Start(kProducers, [&](int p) {
    EXPECT_EQ(Produce(*queue, debts, kItems, kAdds, p, Add), kAdds);
  });
  producers.Join();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
}

TEST_P(QueueStressTest, NoWakeUpIsLost) {
  const std::unique_ptr<Queue<int>> ping = MakeQueue(), pong = MakeQueue();
  ExpectNoWakeUpIsLost(*ping, *pong, [](auto& from, auto& to, auto&) {
    const std::optional<int> token = from.Get();
    if (!token) return false;
    from.Done(*token);
    to.Add(*token);
    return true;
  });
}

// An item is added again and again while it is processed. Done() must queue it
// again each time.
TEST_P(QueueStressTest, DoneQueuesItemsAddedDuringProcessing) {
  constexpr int kItems = 4, kTimes = 3000;
  const std::unique_ptr<Queue<int>> queue = MakeQueue();
  std::atomic<int> left[kItems];
  absl::BlockingCounter all(kItems);
  for (auto& one : left) one = kTimes;
  Threads consumers;
  consumers.Start(6, [&](int) {
    while (std::optional<int> item = queue->Get()) {
      const int now_left = --left[*item];
      if (now_left > 0) {
        EXPECT_TRUE(queue->Add(*item));
      } else if (now_left == 0) {
        all.DecrementCount();
      }
      EXPECT_TRUE(queue->Done(*item));
    }
  });
  for (int i = 0; i < kItems; ++i) queue->Add(i);
  all.Wait();
  EXPECT_TRUE(queue->ShutDownWithDrain());
  consumers.Join();
  for (auto& one : left) EXPECT_EQ(one, 0);
}

// Several threads shut the queue down while it is in use.
TEST_P(QueueStressTest, ShutDownAtAnyTime) {
  ExpectShutDownAtAnyTime(
      /*rounds=*/100, [this] { return MakeQueue(); }, Add, Consume,
      [](Queue<int>& queue, Debts& debts) {
        EXPECT_TRUE(queue.ShutDownWithDrain());
        EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
      });
}

// Does the same as NoAdditionIsLostAndNoItemShared, with metrics. A thread that
// measures the work in progress updates them at the same time.
TEST_P(QueueStressTest, MetricsAddUp) {
  constexpr int kItems = 16, kAdds = 5000;
  RecordingMetrics metrics;
  Debts debts(kItems);
  QueueOptions<int> options;
  options.name = "stress";
  options.metrics_provider = &metrics;
  if (GetParam()) options.ordering = std::make_unique<Fifo>();
  Queue<int> queue(std::move(options));
  Threads producers, consumers;
  consumers.Start(4, [&](int) { Consume(queue, debts); });
  producers.Start(4,
                  [&](int p) { Produce(queue, debts, kItems, kAdds, p, Add); });
  producers.Join();
  EXPECT_TRUE(queue.ShutDownWithDrain());
  consumers.Join();
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
  EXPECT_EQ(metrics.count(MetricKind::kDepth), 0);
  EXPECT_EQ(metrics.count(MetricKind::kAdds), debts.processings());
}

}  // namespace
}  // namespace workqueue::queue_stress_test
