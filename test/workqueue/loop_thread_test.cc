// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of what a function may do that runs on the thread of a waiting loop: a
// call that waits for this thread would never return.

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue::loop_thread_test {
namespace {

constexpr int kItems = 5000;  // more than fit into any buffer

class LoopThreadTest : public testing::Test {
 protected:
  LoopThreadTest() : loop_(std::make_shared<WaitingLoop>(&clock_)) {
    TimersOptions options;
    options.clock = loop_;
    timers_ = std::make_unique<Timers>(std::move(options));
  }

  template <typename Q, typename Options>
  std::unique_ptr<Q> Make(Options options) {
    options.clock = loop_;
    return std::make_unique<Q>(std::move(options));
  }

  // Calls `f()` on the thread of loop_.
  void OnLoop(std::function<void()> f) {
    bool called = false;
    timers_->CallAfter(absl::Seconds(1), &executor_, [&](absl::Status status) {
      EXPECT_TRUE(status.ok());
      f();
      called = true;
    });
    clock_.Step(absl::Seconds(1));
    EXPECT_TRUE(called);
  }

  // Adds `kItems` items to `queue`, and waits for them.
  template <typename Q>
  void AddsFromItsLoop(Q* queue) {
    OnLoop([queue] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue->AddAfter(i, absl::Hours(1)));
      }
    });
    EXPECT_EQ(queue->Len(), 0u);
    clock_.Step(absl::Hours(1));
    EXPECT_EQ(queue->Len(), static_cast<size_t>(kItems));
  }

  FakeClock clock_;
  InlineExecutor executor_;
  std::shared_ptr<WaitingLoop> loop_;
  std::unique_ptr<Timers> timers_;
};

TEST_F(LoopThreadTest, AddsToADelayingQueue) {
  const auto queue = Make<DelayingQueue<int>>(DelayingQueueOptions<int>());
  AddsFromItsLoop(queue.get());
}

TEST_F(LoopThreadTest, AddsToARateLimitingQueue) {
  const auto queue =
      Make<RateLimitingQueue<int>>(RateLimitingQueueOptions<int>());
  AddsFromItsLoop(queue.get());
}

TEST_F(LoopThreadTest, AddsToAPriorityQueue) {
  const auto queue = Make<PriorityQueue<int>>(PriorityQueueOptions<int>());
  AddsFromItsLoop(queue.get());
}

TEST_F(LoopThreadTest, ACallbackOfAQueueAddsToIt) {
  const auto queue = Make<DelayingQueue<int>>(DelayingQueueOptions<int>());
  int added = 0;
  queue->AcquireAsync(&executor_, [&](absl::StatusOr<Lease<int>> lease) {
    ASSERT_TRUE(lease.ok());
    for (int i = 0; i < kItems; ++i) {
      added += queue->AddAfter(i, absl::Hours(1));
    }
  });
  queue->AddAfter(-1, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(added, kItems);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue->Len(), static_cast<size_t>(kItems));
}

// The queue's thread calls the queue below, which adds to the queue above.
TEST_F(LoopThreadTest, TheQueueBelowAddsToTheQueueAbove) {
  std::unique_ptr<DelayingQueue<int>> queue;
  auto below = std::make_unique<HookedQueue<int>>(
      [&queue](int item) {
        if (item < 0) {
          for (int i = 0; i < kItems; ++i) {
            EXPECT_TRUE(queue->AddAfter(i, absl::Hours(1)));
          }
        }
        return true;
      },
      &clock_);
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  queue = *DelayingQueue<int>::Create(std::move(below), std::move(options));
  queue->AddAfter(-1, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(queue->Len(), kItems + 1u);
}

// Each of two loops adds to the queue of the other.
TEST_F(LoopThreadTest, TwoLoopsAddToEachOther) {
  const auto mine = Make<DelayingQueue<int>>(DelayingQueueOptions<int>());
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  DelayingQueue<int> other(std::move(options));
  const auto add = [](Interface<int>* from, DelayingQueue<int>* to,
                      InlineExecutor* executor) {
    from->AcquireAsync(executor, [to](absl::StatusOr<Lease<int>> lease) {
      ASSERT_TRUE(lease.ok());
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(to->AddAfter(i, absl::Hours(1)));
      }
    });
  };
  add(mine.get(), &other, &executor_);
  add(&other, mine.get(), &executor_);
  mine->AddAfter(-1, absl::Seconds(1));
  other.AddAfter(-1, absl::Seconds(1));
  clock_.Step(absl::Seconds(1));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(mine->Len(), static_cast<size_t>(kItems));
  EXPECT_EQ(other.Len(), static_cast<size_t>(kItems));
}

TEST_F(LoopThreadTest, DestroysOtherTimers) {
  TimersOptions options;
  options.clock = loop_;
  auto others = std::make_unique<Timers>(std::move(options));
  Timers* const raw = others.get();  // The destructor of `others` clears it.
  int cancelled = 0;
  for (int i = 0; i < kItems; ++i) {
    others->CallAfter(absl::Hours(1), &executor_, [&](absl::Status status) {
      cancelled += absl::IsCancelled(status);
      // A callback may add another one.
      if (cancelled > kItems) return;
      raw->CallAfter(absl::Hours(1), &executor_,
                     [&](absl::Status) { ++cancelled; });
    });
  }
  OnLoop([&others] { others.reset(); });
  EXPECT_EQ(cancelled, 2 * kItems);
}

TEST_F(LoopThreadTest, DestroysQueues) {
  auto delaying = Make<DelayingQueue<int>>(DelayingQueueOptions<int>());
  auto priority = Make<PriorityQueue<int>>(PriorityQueueOptions<int>());
  delaying->AddAfter(1, absl::Hours(1));
  priority->AddAfter(1, absl::Hours(1));
  int ended = 0;
  for (Interface<int>* queue : {static_cast<Interface<int>*>(delaying.get()),
                                static_cast<Interface<int>*>(priority.get())}) {
    queue->AcquireAsync(&executor_, [&](absl::StatusOr<Lease<int>> lease) {
      ended += absl::IsCancelled(lease.status());
    });
  }
  OnLoop([&] {
    delaying.reset();
    priority.reset();
  });
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace workqueue::loop_thread_test
