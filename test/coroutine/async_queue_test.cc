// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/coroutine/async_queue.h"

#include <atomic>
#include <new>
#include <stop_token>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/coroutine/internal/stoppable_wait.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/sync_wait.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/thread_pool.h"

namespace workqueue::async_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kStopped[] = "CANCELLED: a stop has been requested";

using Results = std::vector<std::string>;

// Records the item, or the error, that it waits for.
Task<void> Record(AsyncQueue<std::string> queue, Results* results) {
  const absl::StatusOr<Lease<std::string>> lease = co_await queue.Next();
  results->push_back(lease.ok() ? **lease : lease.status().ToString());
}

// Records items until there is an error, and records the error.
Task<void> RecordAll(AsyncQueue<std::string> queue, Results* results) {
  while (true) {
    absl::StatusOr<Lease<std::string>> lease = co_await queue.Next();
    results->push_back(lease.ok() ? **lease : lease.status().ToString());
    if (!lease.ok()) co_return;
  }
}

// -----------------------------------------------------------------------------
// Waiting
// -----------------------------------------------------------------------------

TEST(AsyncQueueTest, TakesWhatIsQueued) {
  InlineExecutor executor;
  Queue<std::string> queue;
  queue.Add("a");
  Results results;
  Spawn(&executor, Record({&queue, &executor}, &results));
  EXPECT_THAT(results, ElementsAre("a"));
}

TEST(AsyncQueueTest, WaitsForAnItem) {
  InlineExecutor executor;
  Queue<std::string> queue;
  Results results;
  Spawn(&executor, Record({&queue, &executor}, &results));
  EXPECT_THAT(results, IsEmpty());
  queue.Add("a");
  EXPECT_THAT(results, ElementsAre("a"));
  EXPECT_EQ(queue.Len(), 0u);
}

TEST(AsyncQueueTest, ResumesOnTheExecutor) {
  InlineExecutor inline_executor;
  ManualExecutor executor;
  Queue<std::string> queue;
  Results results;
  Spawn(&inline_executor, Record({&queue, &executor}, &results));
  queue.Add("a");
  EXPECT_THAT(results, IsEmpty());
  executor.RunAll();
  EXPECT_THAT(results, ElementsAre("a"));
}

TEST(AsyncQueueTest, AShutdownEndsTheWait) {
  InlineExecutor executor;
  Queue<std::string> queue;
  Results results;
  Spawn(&executor, RecordAll({&queue, &executor}, &results));
  queue.Add("a");
  queue.Add("b");
  queue.ShutDown();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results, ElementsAre("a", "b", ::testing::StartsWith("CANC")));
}

TEST(AsyncQueueTest, TheDestructorOfAQueueEndsTheWait) {
  InlineExecutor executor;
  Results results;
  {
    Queue<std::string> queue;
    Spawn(&executor, Record({&queue, &executor}, &results));
  }
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0], ::testing::StartsWith("CANCELLED"));
}

TEST(AsyncQueueTest, AnyQueueWillDo) {
  InlineExecutor executor;
  PriorityQueue<std::string> queue;
  Results results;
  const AsyncQueue items(static_cast<Interface<std::string>*>(&queue),
                         &executor);
  Spawn(&executor, Record(items, &results));
  queue.Add("a");
  EXPECT_THAT(results, ElementsAre("a"));
}

TEST(AsyncQueueTest, ManyItemsNeedNoStack) {
  constexpr int kItems = 200000;
  InlineExecutor executor;
  Queue<int> queue;
  int sum = 0;
  const auto count = [](AsyncQueue<int> queue, int* sum) -> Task<void> {
    while (true) {
      const absl::StatusOr<Lease<int>> lease = co_await queue.Next();
      if (!lease.ok()) co_return;
      *sum += **lease == 0 ? 0 : 1;
    }
  };
  for (int i = 1; i <= kItems; ++i) queue.Add(i);
  queue.ShutDown();
  // Not within a task of the executor.
  SyncWait(count({&queue, &executor}, &sum));
  EXPECT_EQ(sum, kItems);
}

// -----------------------------------------------------------------------------
// Stopping, in each state of a wait
// -----------------------------------------------------------------------------

class StopTest : public ::testing::Test {
 protected:
  ~StopTest() override {
    queue_.ShutDown();
    executor_.RunAll();
  }

  void SpawnRecord() {
    Spawn(&inline_executor_,
          Record({&queue_, &executor_, stop_.get_token()}, &results_));
  }

  InlineExecutor inline_executor_;
  ManualExecutor executor_;
  Queue<std::string> queue_;
  std::stop_source stop_;
  Results results_;
};

// Waits for a callback that comes at once, before a stop, and counts the
// cancels.
Task<void> AwaitAtOnce(Executor* executor, std::stop_source* stop, int* cancels,
                       bool* continued) {
  const auto begin = [stop, continued](
                         Executor*,
                         absl::AnyInvocable<void(absl::Status) &&> callback) {
    bool* const has_continued = continued;
    std::stop_source* const source = stop;
    std::move(callback)(absl::OkStatus());
    EXPECT_TRUE(*has_continued) << "the callback returns before";
    source->request_stop();
    return 0;
  };
  const auto cancel = [cancels](int) {
    ++*cancels;
    return false;
  };
  EXPECT_TRUE((co_await internal::WaitForCallback<absl::Status>(
                   begin, cancel, executor, stop->get_token()))
                  .ok());
  *continued = true;
}

// After the callback, the queue of the callback may be gone.
TEST_F(StopTest, AfterTheCallbackNothingIsCancelled) {
  int cancels = 0;
  bool continued = false;
  Spawn(&inline_executor_,
        AwaitAtOnce(&executor_, &stop_, &cancels, &continued));
  EXPECT_EQ(cancels, 0);
  EXPECT_TRUE(continued);
}

// Waits for a callback that comes on another thread while the wait begins.
Task<void> AwaitOtherThread(Executor* executor, std::stop_token stop,
                            Thread* thread, std::atomic<bool>* continued) {
  const auto begin = [thread, continued](
                         Executor*,
                         absl::AnyInvocable<void(absl::Status) &&> callback) {
    std::atomic<bool> begins = false;
    *thread =
        Thread([&begins, continued, call = std::move(callback)]() mutable {
          begins = true;
          std::move(call)(absl::OkStatus());
          EXPECT_TRUE(*continued) << "the callback returns before";
        });
    while (!begins) sync::Yield();
    for (int i = 0; i < 100; ++i) sync::Yield();
    return 0;
  };
  const auto cancel = [](int) { return false; };
  EXPECT_TRUE((co_await internal::WaitForCallback<absl::Status>(
                   begin, cancel, executor, std::move(stop)))
                  .ok());
  *continued = true;
}

// Whose destructor waits for callbacks waits for coroutines.
TEST_F(StopTest, TheCallbackReturnsWhenTheCoroutineHasContinued) {
  for (int i = 0; i < 100; ++i) {
    Thread thread;
    std::atomic<bool> continued = false;
    Spawn(&inline_executor_,
          AwaitOtherThread(&inline_executor_, stop_.get_token(), &thread,
                           &continued));
    thread.join();
  }
}

TEST_F(StopTest, BeforeTheWait) {
  queue_.Add("a");
  stop_.request_stop();
  SpawnRecord();
  EXPECT_THAT(results_, ElementsAre(kStopped));
  EXPECT_EQ(executor_.size(), 0u) << "the coroutine has not suspended";
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(StopTest, DuringTheWait) {
  SpawnRecord();
  stop_.request_stop();
  EXPECT_THAT(results_, IsEmpty()) << "the coroutine resumes on the executor";
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
  queue_.Add("a");
  EXPECT_EQ(executor_.size(), 0u);
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(StopTest, WhenTheItemIsThereAndTheCoroutineHasNotTakenIt) {
  SpawnRecord();
  queue_.Add("a");
  EXPECT_EQ(executor_.size(), 1u);
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
  EXPECT_EQ(queue_.Len(), 1u) << "the item is not lost";
  EXPECT_EQ(queue_.Get(), "a");
  queue_.Done("a");
}

TEST_F(StopTest, AnotherCoroutineGetsTheItem) {
  SpawnRecord();
  Results others;
  Spawn(&inline_executor_, Record({&queue_, &executor_}, &others));
  queue_.Add("a");
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
  EXPECT_THAT(others, ElementsAre("a"));
}

TEST_F(StopTest, AfterTheWait) {
  SpawnRecord();
  queue_.Add("a");
  executor_.RunAll();
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre("a"));
}

TEST_F(StopTest, AfterAShutdown) {
  SpawnRecord();
  queue_.ShutDown();
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
}

TEST_F(StopTest, WhileAnInlineExecutorResumes) {
  for (bool item_first : {false, true}) {
    std::stop_source stop;
    Results results;
    Spawn(&inline_executor_,
          RecordAll({&queue_, &inline_executor_, stop.get_token()}, &results));
    if (item_first) queue_.Add("a");
    stop.request_stop();
    EXPECT_EQ(results.back(), kStopped);
    EXPECT_EQ(results.size(), item_first ? 2u : 1u);
  }
}

// A stop that the coroutine itself requests, from the executor.
TEST_F(StopTest, ByTheCoroutineItself) {
  Results results;
  const auto work = [](AsyncQueue<std::string> queue, std::stop_source stop,
                       Results* results) -> Task<void> {
    co_await Record(queue, results);
    stop.request_stop();
    co_await Record(queue, results);
  };
  Spawn(&inline_executor_,
        work({&queue_, &inline_executor_, stop_.get_token()}, stop_, &results));
  queue_.Add("a");
  EXPECT_THAT(results, ElementsAre("a", kStopped));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(StopTest, IfTheExecutorThrowsTheCoroutineResumesHere) {
  class ThrowingExecutor final : public Executor {
   public:
    void Execute(absl::AnyInvocable<void() &&>) override {
      throw std::bad_alloc();
    }
  };
  ThrowingExecutor executor;
  Results results;
  Spawn(&inline_executor_,
        Record({&queue_, &executor, stop_.get_token()}, &results));
  stop_.request_stop();
  EXPECT_THAT(results, ElementsAre(kStopped));
}

#endif  // ABSL_HAVE_EXCEPTIONS

// -----------------------------------------------------------------------------
// Threads
// -----------------------------------------------------------------------------

TEST(AsyncQueueThreadsTest, ManyCoroutinesShareAQueue) {
  constexpr int kCoroutines = 1000;
  constexpr int kItems = 20000;
  const auto pool = *ThreadPool::Create();
  Queue<int> queue;
  std::vector<std::atomic<int>> processed(kItems);
  absl::BlockingCounter left(kCoroutines);
  const auto work = [](AsyncQueue<int> queue,
                       std::vector<std::atomic<int>>* processed) -> Task<void> {
    while (true) {
      const absl::StatusOr<Lease<int>> lease = co_await queue.Next();
      if (!lease.ok()) co_return;
      ++(*processed)[**lease];
    }
  };
  for (int i = 0; i < kCoroutines; ++i) {
    Spawn(pool.get(), work({&queue, pool.get()}, &processed),
          [&left](absl::Status) { left.DecrementCount(); });
  }
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  queue.ShutDown();
  left.Wait();
  for (int i = 0; i < kItems; ++i) ASSERT_EQ(processed[i], 1) << i;
}

// Each item is either taken, or still queued, whenever the stop comes.
TEST(AsyncQueueThreadsTest, NoStopLosesAnItem) {
  constexpr int kRounds = 2000;
  const auto pool = *ThreadPool::Create();
  int taken = 0;
  for (int i = 0; i < kRounds; ++i) {
    Queue<std::string> queue;
    std::stop_source stop;
    Results results;
    absl::BlockingCounter left(1);
    std::thread adds([&queue] { queue.Add("a"); });
    Spawn(pool.get(), Record({&queue, pool.get(), stop.get_token()}, &results),
          [&left](absl::Status) { left.DecrementCount(); });
    stop.request_stop();
    adds.join();
    left.Wait();
    ASSERT_EQ(results.size(), 1u);
    if (results[0] == "a") {
      ++taken;
      ASSERT_EQ(queue.Len(), 0u);
    } else {
      ASSERT_EQ(results[0], kStopped);
      ASSERT_EQ(queue.Len(), 1u);
    }
  }
  RecordProperty("taken", taken);
}

}  // namespace
}  // namespace workqueue::async_queue_test

#endif  // __cpp_impl_coroutine
