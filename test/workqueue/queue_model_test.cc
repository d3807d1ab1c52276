// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Queues do as their models do, whatever is asked of them in whatever order.

#include "test/workqueue/queue_model.h"

#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/time/time.h"
#include "clock/fake_clock.h"
#include "gtest/gtest.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace {

// With each of five seeds.
constexpr int kOperations = 20000;

// Has `queue` and `model` do one thing, the same, and returns whether they come
// to the same result. `choice` is out of a hundred.
template <typename Model>
bool DoOne(Interface<int>& queue, Model& model, int choice, int item) {
  if (choice < 45) return queue.Add(item) == model.Add(item);
  if (choice < 75) return queue.Done(item) == model.Done(item);
  const bool blocks = model.Len() == 0 && !model.ShuttingDown();
  return blocks || queue.Get() == model.Get();
}

template <typename MakeQueue>
void CompareQueues(int seed, const MakeQueue& make) {
  std::mt19937 random(seed);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % n);
  };
  for (int done = 0; done < kOperations;) {
    // One queue's life.
    const std::unique_ptr<Queue<int>> queue = make();
    QueueModel model;
    const int items = 1 + below(30);
    const int length = below(5000);
    for (int i = 0; i < length; ++i, ++done) {
      ASSERT_TRUE(DoOne(*queue, model, below(100), below(items))) << done;
      ASSERT_EQ(queue->Len(), model.Len()) << done;
      if (i == length * 3 / 4) {
        queue->ShutDown();
        model.ShutDown();
      }
    }
  }
}

class QueueModelTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, QueueModelTest, testing::Range(1, 6));

TEST_P(QueueModelTest, Queue) {
  CompareQueues(GetParam(), [] { return std::make_unique<Queue<int>>(); });
}

TEST_P(QueueModelTest, QueueWithAnOrdering) {
  CompareQueues(GetParam(), [] {
    QueueOptions<int> options;
    options.ordering = std::make_unique<WatchedFifo<int>>();
    return std::make_unique<Queue<int>>(std::move(options));
  });
}

TEST_P(QueueModelTest, DelayingQueue) {
  std::mt19937 random(GetParam());
  const auto below = [&random](int n) {
    return static_cast<int>(random() % n);
  };
  for (int done = 0; done < kOperations;) {
    clocks::FakeClock clock;
    DelayingQueueOptions<int> options;
    options.clock = &clock;
    DelayingQueue<int> queue(std::move(options));
    DelayingQueueModel model(clock.TimeNow());
    const int items = 1 + below(60);
    const int length = below(10000);
    for (int i = 0; i < length; ++i, ++done) {
      const int choice = below(100);
      const int item = below(items);
      if (choice < 30) {
        // Few different ones, so that many are equal; some not positive.
        const absl::Duration delay = absl::Seconds(below(20) - 2);
        ASSERT_EQ(queue.AddAfter(item, delay), model.AddAfter(item, delay))
            << done;
      } else if (choice < 35) {
        const absl::Duration step = absl::Milliseconds(500 * below(8));
        clock.Step(step);
        model.Step(step);
      } else {
        ASSERT_TRUE(DoOne(queue, model, below(100), item)) << done;
      }
      ASSERT_EQ(queue.Len(), model.Len()) << done;
      if (i == length * 3 / 4) {
        queue.ShutDown();
        model.ShutDown();
      }
    }
  }
}

}  // namespace
}  // namespace workqueue
