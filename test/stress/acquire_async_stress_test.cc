// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads and callbacks that get items of one queue.

#include <atomic>
#include <memory>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "gtest/gtest.h"
#include "test/stress/debts.h"
#include "test/stress/threads.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/thread_pool.h"

namespace workqueue::acquire_async_stress_test {
namespace {

enum class QueueKind { kQueue, kSupersedingQueue, kPriorityQueue };
enum class ExecutorKind { kInline, kPool };

std::unique_ptr<Interface<int>> MakeQueue(QueueKind kind) {
  switch (kind) {
    case QueueKind::kQueue:
      break;
    case QueueKind::kSupersedingQueue: {
      DelayingQueueOptions<int> options;
      options.add_supersedes_waiting = true;
      return std::make_unique<DelayingQueue<int>>(std::move(options));
    }
    case QueueKind::kPriorityQueue:
      return std::make_unique<PriorityQueue<int>>();
  }
  return std::make_unique<Queue<int>>();
}

std::unique_ptr<Executor> MakeExecutor(ExecutorKind kind) {
  if (kind == ExecutorKind::kInline) return std::make_unique<InlineExecutor>();
  ThreadPoolOptions options;
  options.threads = 3;
  return *ThreadPool::Create(std::move(options));
}

class AcquireAsyncStressTest
    : public testing::TestWithParam<std::tuple<QueueKind, ExecutorKind>> {
 protected:
  std::unique_ptr<Executor> executor_ = MakeExecutor(std::get<1>(GetParam()));
  std::unique_ptr<Interface<int>> queue_ = MakeQueue(std::get<0>(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, AcquireAsyncStressTest,
    testing::Combine(
        testing::Values(QueueKind::kQueue, QueueKind::kSupersedingQueue,
                        QueueKind::kPriorityQueue),
        testing::Values(ExecutorKind::kInline, ExecutorKind::kPool)));

// Processes items in callbacks, one after the other, until the queue ends.
class CallbackWorker {
 public:
  CallbackWorker(Interface<int>* queue, Executor* executor, Debts* debts)
      : queue_(*queue), executor_(executor), debts_(*debts) {}

  void Next() {
    queue_.AcquireNextAsync(
        &lease_, executor_,
        [this](absl::StatusOr<Lease<int>> next) { Process(std::move(next)); });
  }

  bool ended() const { return ended_; }

 private:
  void Process(absl::StatusOr<Lease<int>> next) {
    if (!next.ok()) {
      EXPECT_TRUE(absl::IsCancelled(next.status()));
      EXPECT_FALSE(ended_.exchange(true));
      return;
    }
    lease_ = *std::move(next);
    debts_.Begin(*lease_);
    std::this_thread::yield();
    debts_.End(*lease_);
    Next();
  }

  Interface<int>& queue_;
  Executor* const executor_;
  Debts& debts_;
  Lease<int> lease_;
  std::atomic<bool> ended_{false};
};

// There are few items, so most of the getters wait most of the time. Other
// callbacks come and are cancelled, often while they are on their way.
TEST_P(AcquireAsyncStressTest, NoAdditionIsLostAndNoItemShared) {
  constexpr int kItems = 8, kAdds = 5000;
  Debts debts(kItems);
  std::vector<std::unique_ptr<CallbackWorker>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<CallbackWorker>(
        queue_.get(), executor_.get(), &debts));
    workers.back()->Next();
  }
  Threads consumers, producers, cancellers;
  consumers.Start(2, [&](int) { Consume(*queue_, debts); });
  const auto add = [](Interface<int>& queue, int item, std::mt19937&) {
    return queue.Add(item);
  };
  producers.Start(3, [&](int p) {
    EXPECT_EQ(Produce(*queue_, debts, kItems, kAdds, p, add), kAdds);
  });
  std::atomic<int> called{0}, cancelled{0};
  constexpr int kCancels = 2000;
  cancellers.Start(2, [&](int) {
    for (int i = 0; i < kCancels; ++i) {
      const AcquireId id = queue_->AcquireAsync(
          executor_.get(), [&](absl::StatusOr<Lease<int>> lease) {
            ++called;
            if (!lease.ok()) return;
            debts.Begin(**lease);
            debts.End(**lease);
          });
      std::this_thread::yield();
      cancelled += queue_->CancelAcquire(id) ? 1 : 0;
    }
  });
  producers.Join();
  cancellers.Join();
  EXPECT_TRUE(queue_->ShutDownWithDrain());
  debts.Close();
  consumers.Join();
  queue_.reset();
  executor_.reset();  // All callbacks have ended.
  EXPECT_EQ(debts.ExpectPaidButDelayed(), 0);
  EXPECT_EQ(called + cancelled, 2 * kCancels);
  for (const auto& worker : workers) EXPECT_TRUE(worker->ended());
}

// A callback adds its item to the other queue. If no callback is woken for an
// item, the test stops.
TEST_P(AcquireAsyncStressTest, NoWakeUpIsLost) {
  constexpr int kTokens = 3, kHops = 5000;
  struct Hop {
    void Wait() {
      from->AcquireAsync(executor, [this](absl::StatusOr<Lease<int>> lease) {
        if (!lease.ok()) {
          ended->DecrementCount();
          return;
        }
        const int token = **lease;
        lease->Done();
        if (++*hops >= kHops) {
          from->ShutDown();
          to->ShutDown();
        } else {
          to->Add(token);
        }
        Wait();  // This callback does not use the queues afterwards.
      });
    }

    Interface<int>* from;
    Interface<int>* to;
    Executor* executor;
    std::atomic<int>* hops;
    absl::BlockingCounter* ended;
  };
  std::unique_ptr<Interface<int>> other = MakeQueue(std::get<0>(GetParam()));
  std::atomic<int> hops{0};
  absl::BlockingCounter ended(2 * kTokens);
  Hop there{queue_.get(), other.get(), executor_.get(), &hops, &ended};
  Hop back{other.get(), queue_.get(), executor_.get(), &hops, &ended};
  for (int i = 0; i < kTokens; ++i) {
    there.Wait();
    back.Wait();
  }
  for (int i = 0; i < kTokens; ++i) queue_->Add(i);
  ended.Wait();
  EXPECT_GE(hops, kHops);
}

// Callbacks are on their way, without an item, when the destructor begins.
TEST_P(AcquireAsyncStressTest, AQueueIsDestroyedWhileCallbacksAreOnTheirWay) {
  constexpr int kRounds = 1000, kCallbacks = 20;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> cancelled{0};
    std::unique_ptr<Interface<int>> queue = MakeQueue(std::get<0>(GetParam()));
    std::atomic<int> got{0};
    for (int i = 0; i < kCallbacks; ++i) {
      queue->AcquireAsync(executor_.get(),
                          [&](absl::StatusOr<Lease<int>> lease) {
                            (lease.ok() ? got : cancelled) += 1;
                          });
    }
    queue->AddAll({1, 2, 3});
    // Takes what the callbacks have not taken, and waits for the rest.
    while (queue->TryAcquire().ok()) {
    }
    EXPECT_TRUE(queue->ShutDownWithDrain());
    queue.reset();
    if (std::get<1>(GetParam()) == ExecutorKind::kPool) {
      executor_ = MakeExecutor(ExecutorKind::kPool);  // The tasks have ended.
    }
    EXPECT_EQ(got + cancelled, kCallbacks);
  }
}

}  // namespace
}  // namespace workqueue::acquire_async_stress_test
