// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of calls from the thread of a waiting loop, which waits for no loop.

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr int kMany = 5000;  // more than fit into an add-channel

template <typename Options>
Options On(std::shared_ptr<WaitingLoop> loop) {
  Options options;
  options.clock = std::move(loop);
  return options;
}

class LoopThreadTest : public testing::Test {
 protected:
  LoopThreadTest()
      : loop_(std::make_shared<WaitingLoop>(&clock_)),
        queue_(On<DelayingQueueOptions<int>>(loop_)) {}

  void AddMany() {
    for (int i = 0; i < kMany; ++i) {
      EXPECT_TRUE(queue_.AddAfter(i, kSecond));
    }
  }

  // Adds many on the thread of `loop`.
  void AddManyOn(std::shared_ptr<WaitingLoop> loop) {
    Timers timers(On<TimersOptions>(std::move(loop)));
    timers.CallAfter(kSecond, &executor_, [this](absl::Status) { AddMany(); });
    clock_.Step(kSecond);
  }

  FakeClock clock_;
  InlineExecutor executor_;
  const std::shared_ptr<WaitingLoop> loop_;
  DelayingQueue<int> queue_;
};

TEST_F(LoopThreadTest, ATimerAddsMoreThanFits) {
  AddManyOn(loop_);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_.Step(kSecond);
  EXPECT_EQ(queue_.Len(), static_cast<size_t>(kMany));
}

// The two loops could wait for each other.
TEST_F(LoopThreadTest, ATimerOfAnotherLoopAddsMoreThanFits) {
  AddManyOn(std::make_shared<WaitingLoop>(&clock_));
  clock_.Step(kSecond);
  EXPECT_EQ(queue_.Len(), static_cast<size_t>(kMany));
}

TEST_F(LoopThreadTest, ACallbackOfTheQueueAddsMoreThanFits) {
  queue_.AcquireAsync(&executor_, [this](auto lease) {
    ASSERT_TRUE(lease.ok());
    AddMany();
  });
  queue_.AddAfter(-1, kSecond);
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(queue_.Len(), static_cast<size_t>(kMany));
}

// Each item is added again with a backoff, as a controller does that fails.
TEST_F(LoopThreadTest, ManyCallbacksInARowAddTheirItemAgain) {
  RateLimitingQueue<int> queue(On<RateLimitingQueueOptions<int>>(loop_));
  int failed = 0;
  struct Worker {
    void Acquire() {
      queue->AcquireAsync(executor, [this](auto lease) {
        if (!lease.ok()) return;
        ++*failed;
        queue->AddAfter(**lease, absl::Hours(1));
        lease->Done();
        Acquire();
      });
    }
    RateLimitingQueue<int>* queue;
    InlineExecutor* executor;
    int* failed;
  };
  Worker worker{&queue, &executor_, &failed};
  worker.Acquire();
  for (int i = 0; i < 3; ++i) {
    for (int item = 0; item < 900; ++item) {
      queue.AddAfter(900 * i + item, kSecond);
    }
    clock_.Step(absl::ZeroDuration());
  }
  clock_.Step(kSecond);
  EXPECT_EQ(failed, 2700);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(failed, 2 * 2700);
  queue.ShutDown();
}

}  // namespace
}  // namespace workqueue
