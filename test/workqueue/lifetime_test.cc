// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the destruction of a queue while threads block in it, and while
// leases exist.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/every_queue.h"
#include "test/workqueue/observed_clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"

namespace workqueue::lifetime_test {
namespace {

// -----------------------------------------------------------------------------
// Threads that block
// -----------------------------------------------------------------------------

std::vector<QueueKind> WatchedKinds() {
  std::vector<QueueKind> kinds = EveryQueueKind();
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(),
                             [](const QueueKind& k) { return !k.watched; }),
              kinds.end());
  return kinds;
}

class LifetimeTest : public EveryQueueTest {
 protected:
  // Calls `f(queue)` on a thread, and destroys the queue while `f` blocks.
  template <typename F>
  void DestroyWhile(F f) {
    Thread thread([f, queue = queue_.get()] { f(*queue); });
    AwaitBlocked(1);
    queue_.reset();
    thread.join();
  }

  // Does the same for a call with a timeout.
  template <typename F>
  void DestroyWhileWaiting(F f) {
    Thread thread([f, queue = queue_.get()] { f(*queue); });
    AwaitWaiters(1);
    queue_->Len();  // Gets the lock only once the thread waits.
    queue_.reset();
    thread.join();
  }

  static absl::Duration Later() { return absl::Hours(1); }
};

INSTANTIATE_TEST_SUITE_P(Queues, LifetimeTest,
                         testing::ValuesIn(WatchedKinds()), NameOfQueueKind);

TEST_P(LifetimeTest, EndsAGet) {
  DestroyWhile([](auto& queue) { EXPECT_EQ(queue.Get(), std::nullopt); });
}

TEST_P(LifetimeTest, EndsAnAcquire) {
  DestroyWhile([](auto& queue) { EXPECT_FALSE(queue.Acquire().ok()); });
}

TEST_P(LifetimeTest, EndsAnAcquireNext) {
  DestroyWhile([](auto& queue) {
    Lease<std::string> lease;
    EXPECT_FALSE(queue.AcquireNext(&lease).ok());
    EXPECT_FALSE(lease);
  });
}

TEST_P(LifetimeTest, EndsAnAcquireUpTo) {
  DestroyWhile([](auto& queue) {
    EXPECT_TRUE(absl::IsCancelled(queue.AcquireUpTo(3).status()));
  });
}

TEST_P(LifetimeTest, EndsADrain) {
  queue_->Add("never processed");
  DestroyWhile([](auto& queue) { EXPECT_FALSE(queue.ShutDownWithDrain()); });
}

TEST_P(LifetimeTest, EndsAGetWithTimeout) {
  DestroyWhileWaiting([later = Later()](auto& queue) {
    EXPECT_TRUE(absl::IsCancelled(queue.GetWithTimeout(later).status()));
  });
}

TEST_P(LifetimeTest, EndsAnAcquireWithTimeout) {
  DestroyWhileWaiting([later = Later()](auto& queue) {
    EXPECT_TRUE(absl::IsCancelled(queue.AcquireWithTimeout(later).status()));
  });
}

TEST_P(LifetimeTest, EndsADrainWithTimeout) {
  queue_->Add("never processed");
  DestroyWhileWaiting([later = Later()](auto& queue) {
    EXPECT_FALSE(queue.ShutDownWithDrainWithin(later));
  });
}

TEST_P(LifetimeTest, EndsAllThatBlock) {
  constexpr int kThreads = 20;
  std::vector<Thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(
        [queue = queue_.get()] { EXPECT_EQ(queue->Get(), std::nullopt); });
  }
  AwaitBlocked(kThreads);
  queue_.reset();
  for (Thread& thread : threads) thread.join();
}

TEST(PriorityQueueLifetimeTest, EndsAllThatBlock) {
  FakeClock clock;
  PriorityQueueOptions<int> options;
  options.clock = &clock;
  auto queue = std::make_unique<PriorityQueue<int>>(std::move(options));
  clock.Step(absl::ZeroDuration());
  constexpr absl::Duration later = absl::Hours(1);
  const size_t waiters = clock.NumWaiters();
  queue->AddAfter(1, absl::Hours(2));
  Thread getter([later, q = queue.get()] {
    EXPECT_TRUE(absl::IsCancelled(q->GetWithTimeout(later).status()));
  });
  Thread acquirer([later, q = queue.get()] {
    EXPECT_TRUE(absl::IsCancelled(q->AcquireWithTimeout(later).status()));
  });
  clock.AwaitWaiters(waiters + 2);
  queue->Len();  // Gets the lock only once the threads wait.
  queue.reset();
  getter.join();
  acquirer.join();
}

// A lease that the getter acquired would outlive the queue.
TEST(QueueLifetimeTest, AGetDuringDestructionGetsNothing) {
  FakeClock fake_clock;
  ObservedClock clock(&fake_clock);
  QueueOptions<int> options;
  options.clock = &clock;
  auto queue = std::make_unique<Queue<int>>(std::move(options));
  absl::Notification waits;
  // Called through the interface, because the `Queue` is being destroyed.
  const Interface<int>* const ending = queue.get();
  clock.on_await = [&waits, ending](absl::Mutex* mu) {
    waits.Notify();
    mu->Await(absl::Condition(ending, &Interface<int>::ShuttingDown));
  };
  Thread acquirer([q = queue.get()] {
    constexpr absl::Duration later = absl::Hours(1);
    EXPECT_TRUE(absl::IsCancelled(q->AcquireWithTimeout(later).status()));
  });
  waits.WaitForNotification();
  queue->Add(1);
  queue.reset();
  acquirer.join();
}

// -----------------------------------------------------------------------------
// Callbacks that wait
// -----------------------------------------------------------------------------

std::vector<QueueKind> KindsWithCallbacks() {
  std::vector<QueueKind> kinds = EveryQueueKind();
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(),
                             [](const QueueKind& k) { return k.plain; }),
              kinds.end());
  return kinds;
}

using Item = absl::StatusOr<Lease<std::string>>;

class CallbackLifetimeTest : public EveryQueueTest {
 protected:
  CallbackLifetimeTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

INSTANTIATE_TEST_SUITE_P(Queues, CallbackLifetimeTest,
                         testing::ValuesIn(KindsWithCallbacks()),
                         NameOfQueueKind);

// Keeps tasks until there are `n`, and then runs them.
class HoldingExecutor final : public Executor {
 public:
  explicit HoldingExecutor(size_t n) : n_(n) {}

  void Execute(absl::AnyInvocable<void() &&> task) override {
    tasks_.push_back(std::move(task));
    if (tasks_.size() < n_) return;
    for (auto& held : tasks_) std::move(held)();
    tasks_.clear();
  }

 private:
  const size_t n_;
  std::vector<absl::AnyInvocable<void() &&>> tasks_;
};

// A lease that a callback acquired would outlive the queue. The first callback
// is on its way, and the destructor submits the second one.
TEST_P(CallbackLifetimeTest, ACallbackDuringDestructionGetsNothing) {
  HoldingExecutor executor(2);
  int cancelled = 0;
  for (int i = 0; i < 2; ++i) {
    queue_->AcquireAsync(&executor, [&cancelled](Item item) {
      cancelled += absl::IsCancelled(item.status()) ? 1 : 0;
    });
  }
  queue_->Add("a");
  EXPECT_EQ(cancelled, 0);
  queue_.reset();
  EXPECT_EQ(cancelled, 2);
}

// A callback has been submitted for an item that another thread has taken.
TEST_P(CallbackLifetimeTest, ACallbackMayRunWhileItsQueueIsDestroyed) {
  std::atomic<bool> cancelled{false};
  absl::Notification go_on;
  ThreadPoolOptions options;
  options.threads = 1;
  const auto pool = *ThreadPool::Create(options);
  pool->Execute([&go_on] { go_on.WaitForNotification(); });
  queue_->AcquireAsync(pool.get(), [&cancelled](Item item) {
    cancelled = absl::IsCancelled(item.status());
  });
  queue_->Add("a");
  queue_->Done(*queue_->Get());
  go_on.Notify();
  queue_.reset();
  absl::Notification all_ran;
  pool->Execute([&all_ran] { all_ran.Notify(); });
  all_ran.WaitForNotification();
  EXPECT_TRUE(cancelled);
}

// The program cannot know that a callback is about to get an item.
TEST_P(CallbackLifetimeTest, ACallbackThatHasAnItemDelaysTheDestructor) {
  ThreadPoolOptions options;
  options.threads = 1;
  const auto pool = *ThreadPool::Create(options);
  absl::Notification has_item;
  absl::Notification destroyed;
  bool ended = false;
  queue_->AcquireAsync(pool.get(), [&](Item item) {
    has_item.Notify();
    destroyed.WaitForNotification();
    item->Done();
    ended = true;
  });
  InlineExecutor executor;
  queue_->AcquireAsync(&executor, [&](Item item) {
    EXPECT_TRUE(absl::IsCancelled(item.status()));
    destroyed.Notify();
  });
  queue_->Add("a");
  has_item.WaitForNotification();
  queue_.reset();
  EXPECT_TRUE(ended);
}

// Ends so many leases that entries move, among them those of items that wait.
TEST_P(CallbackLifetimeTest, ACallbackMayEndABatchWhileItsQueueIsDestroyed) {
  constexpr int kItems = 4000;
  for (int i = 0; i < kItems; ++i) queue_->Add(absl::StrCat("a", i));
  AddOptions later;
  later.after = absl::Hours(1);
  for (int i = 0; i < kItems; ++i) {
    queue_->AddWithOptions(later, {absl::StrCat("waits ", i)});
  }
  for (int i = 0; i < kItems; ++i) queue_->Done(*queue_->Get());
  constexpr size_t kBatch = 64;
  for (size_t i = 0; i < kBatch; ++i) queue_->Add(absl::StrCat("b", i));
  LeaseBatch<std::string> batch = *queue_->AcquireUpTo(kBatch);

  ThreadPoolOptions options;
  options.threads = 1;
  const auto pool = *ThreadPool::Create(options);
  absl::Notification has_item;
  absl::Notification destroyed;
  queue_->AcquireAsync(pool.get(), [&](Item item) {
    has_item.Notify();
    destroyed.WaitForNotification();
    batch.Done();
    item->Done();
  });
  InlineExecutor executor;
  queue_->AcquireAsync(&executor, [&](Item) { destroyed.Notify(); });
  queue_->Add("c");
  has_item.WaitForNotification();
  queue_.reset();
  EXPECT_TRUE(batch.empty());
}

TEST_P(CallbackLifetimeTest, ACancelledCallbackOnItsWayDelaysTheDestructor) {
  ThreadPoolOptions options;
  options.threads = 1;
  const auto pool = *ThreadPool::Create(options);
  absl::Notification go_on;
  pool->Execute([&go_on] { go_on.WaitForNotification(); });
  const AcquireId id = queue_->AcquireAsync(
      pool.get(), [](Item) { ADD_FAILURE() << "it is cancelled"; });
  queue_->Add("a");
  EXPECT_TRUE(queue_->CancelAcquire(id));
  go_on.Notify();
  queue_.reset();
}

TEST_P(CallbackLifetimeTest, TheLeaseOfACallbackThatOutlivesItsQueue) {
  InlineExecutor executor;
  Lease<std::string> lease;
  queue_->AcquireAsync(&executor,
                       [&lease](Item item) { lease = *std::move(item); });
  queue_->Add("default/web");
  EXPECT_DEATH(queue_.reset(),
               "is destroyed before its leases; left: 1, one of them of "
               "default/web");
}

// -----------------------------------------------------------------------------
// Leases that are left
// -----------------------------------------------------------------------------

class LeaseLifetimeTest : public EveryQueueTest {
 protected:
  LeaseLifetimeTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

INSTANTIATE_TEST_SUITE_P(Queues, LeaseLifetimeTest,
                         testing::ValuesIn(EveryQueueKind()), NameOfQueueKind);

TEST_P(LeaseLifetimeTest, ALeaseThatOutlivesItsQueueEndsTheProgram) {
  queue_->Add("default/web");
  const Lease<std::string> lease = *queue_->Acquire();
  EXPECT_DEATH(queue_.reset(), "is destroyed before its leases; left: 1");
}

TEST_P(LeaseLifetimeTest, ABatchThatOutlivesItsQueueEndsTheProgram) {
  queue_->AddAll({"a", "b", "c"});
  absl::StatusOr<LeaseBatch<std::string>> leases = queue_->AcquireUpTo(3);
  ASSERT_TRUE(leases.ok());
  leases->front().Done();
  EXPECT_DEATH(queue_.reset(), "is destroyed before its leases; left: 2");
}

TEST_P(LeaseLifetimeTest, AnEndedLeaseMayOutliveItsQueue) {
  queue_->Add("default/web");
  Lease<std::string> lease = *queue_->Acquire();
  Lease<std::string> moved = std::move(lease);
  moved.Done();
  queue_.reset();
}

TEST(LeaseLifetimeMessageTest, NamesTheQueueAndAnItem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  QueueOptions<std::string> options;
  options.name = "deployments";
  auto queue = std::make_unique<Queue<std::string>>(std::move(options));
  queue->AddAll({"default/api", "default/web"});
  queue->Get();
  const Lease<std::string> lease = *queue->Acquire();
  EXPECT_DEATH(
      queue.reset(),
      "workqueue: queue deployments is destroyed before its leases; left: 1, "
      "one of them of default/web");
}

TEST(LeaseLifetimeMessageTest, EscapesTheItem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto queue = std::make_unique<Queue<std::string>>();
  queue->Add(std::string("a\n\0b", 4));
  const Lease<std::string> lease = *queue->Acquire();
  EXPECT_DEATH(queue.reset(), "one of them of a\\\\n\\\\000b\n");
}

}  // namespace
}  // namespace workqueue::lifetime_test
