// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/coroutine/async_timers.h"

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/coroutine/async_queue.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue::async_timers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

constexpr char kStopped[] = "CANCELLED: a stop has been requested";
constexpr char kShutDown[] = "CANCELLED: the timers have been shut down";

using Results = std::vector<std::string>;

// Records the result of a wait.
Task<void> Record(AsyncTimers timers, absl::Duration delay, Results* results) {
  const absl::Status status = co_await timers.After(delay);
  results->push_back(status.ToString());
}

// Counts the seconds until there is an error.
Task<void> Count(AsyncTimers timers, std::atomic<int>* seconds) {
  while (true) {
    const absl::Status status = co_await timers.After(kSecond);
    if (!status.ok()) co_return;
    ++*seconds;
  }
}

class AsyncTimersTest : public ::testing::Test {
 protected:
  TimersOptions Options() {
    TimersOptions options;
    options.clock = &clock_;
    return options;
  }

  std::unique_ptr<ThreadPool> NewPool() {
    ThreadPoolOptions options;
    options.clock = &clock_;
    return *ThreadPool::Create(options);
  }

  FakeClock clock_;
  InlineExecutor inline_executor_;
  std::stop_source stop_;
  Results results_;
};

TEST_F(AsyncTimersTest, WaitOnALoopThatTheProgramDrives) {
  const auto loop = std::make_shared<WaitingLoop>(&clock_, [] {});
  TimersOptions options;
  options.clock = loop;
  InlineExecutor executor;
  std::atomic<int> seconds{0};
  {
    Timers timers(std::move(options));
    Spawn(&executor, Count(AsyncTimers(&timers, &executor), &seconds));
    for (int i = 0; i < 3; ++i) {
      clock_.Step(kSecond);
      loop->RunDue();
    }
  }
  EXPECT_EQ(seconds, 3);
}

TEST_F(AsyncTimersTest, WaitsUntilTheDelayIsOver) {
  Timers timers(Options());
  Spawn(&inline_executor_,
        Record({&timers, &inline_executor_}, kSecond, &results_));
  clock_.Step(kSecond - kNs);
  EXPECT_THAT(results_, IsEmpty());
  clock_.Step(kNs);
  EXPECT_THAT(results_, ElementsAre("OK"));
}

// Step() returns when all coroutines wait again.
TEST_F(AsyncTimersTest, StepWaitsForCoroutines) {
  constexpr int kCoroutines = 100;
  const auto pool = NewPool();
  std::atomic<int> seconds{0};
  absl::BlockingCounter left(kCoroutines);
  Timers timers(Options());
  for (int i = 0; i < kCoroutines; ++i) {
    Spawn(pool.get(), Count({&timers, pool.get()}, &seconds),
          [&left](absl::Status) { left.DecrementCount(); });
  }
  for (int i = 1; i <= 50; ++i) {
    clock_.Step(kSecond);
    ASSERT_EQ(seconds, i * kCoroutines);
  }
  timers.ShutDown();
  left.Wait();
}

TEST_F(AsyncTimersTest, ManyWaitsNeedNoThread) {
  constexpr int kCoroutines = 100000;
  std::atomic<int> seconds{0};
  Timers timers(Options());
  for (int i = 0; i < kCoroutines; ++i) {
    Spawn(&inline_executor_, Count({&timers, &inline_executor_}, &seconds));
  }
  clock_.Step(kSecond);
  EXPECT_EQ(seconds, kCoroutines);
}

TEST_F(AsyncTimersTest, TheDestructorEndsTheWait) {
  {
    Timers timers(Options());
    Spawn(&inline_executor_,
          Record({&timers, &inline_executor_}, kSecond, &results_));
  }
  EXPECT_THAT(results_, ElementsAre(kShutDown));
}

TEST_F(AsyncTimersTest, AStopBeforeTheWait) {
  Timers timers(Options());
  stop_.request_stop();
  Spawn(&inline_executor_,
        Record({&timers, &inline_executor_, stop_.get_token()}, kSecond,
               &results_));
  EXPECT_THAT(results_, ElementsAre(kStopped));
}

TEST_F(AsyncTimersTest, AStopDuringTheWait) {
  ManualExecutor executor;
  Timers timers(Options());
  Spawn(&inline_executor_,
        Record({&timers, &executor, stop_.get_token()}, kSecond, &results_));
  stop_.request_stop();
  EXPECT_THAT(results_, IsEmpty()) << "the coroutine resumes on the executor";
  executor.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
  clock_.Step(kSecond);
  EXPECT_EQ(executor.size(), 0u);
}

TEST_F(AsyncTimersTest, AStopWhenTheTimeHasCome) {
  ManualExecutor executor;
  Timers timers(Options());
  Spawn(&inline_executor_,
        Record({&timers, &executor, stop_.get_token()}, kSecond, &results_));
  clock_.Step(kSecond);
  EXPECT_EQ(executor.size(), 1u);
  stop_.request_stop();
  executor.RunAll();
  EXPECT_THAT(results_, ElementsAre(kStopped));
}

TEST_F(AsyncTimersTest, AStopAfterTheWait) {
  Timers timers(Options());
  Spawn(&inline_executor_,
        Record({&timers, &inline_executor_, stop_.get_token()}, kSecond,
               &results_));
  clock_.Step(kSecond);
  stop_.request_stop();
  EXPECT_THAT(results_, ElementsAre("OK"));
}

// A stop at the moment at which the time comes, on several threads.
TEST_F(AsyncTimersTest, StopsAndTimesMayComeTogether) {
  const auto pool = NewPool();
  Timers timers(Options());
  for (int round = 0; round < 500; ++round) {
    constexpr int kCoroutines = 4;
    std::stop_source stop;
    std::vector<Results> results(kCoroutines);
    absl::BlockingCounter left(kCoroutines);
    for (int i = 0; i < kCoroutines; ++i) {
      const absl::Duration delay = i % 2 * kSecond;
      Spawn(pool.get(),
            Record({&timers, pool.get(), stop.get_token()}, delay, &results[i]),
            [&left](absl::Status) { left.DecrementCount(); });
    }
    stop.request_stop();
    left.Wait();
    for (int i = 0; i < kCoroutines; ++i) {
      ASSERT_EQ(results[i].size(), 1u);
      ASSERT_TRUE(results[i][0] == kStopped ||
                  (i % 2 == 0 && results[i][0] == "OK"))
          << results[i][0];
    }
  }
}

// Workers that take items, wait for a second, and add the items again.
TEST_F(AsyncTimersTest, QueuesAndTimersTogether) {
  constexpr int kCoroutines = 100;
  constexpr int kItems = 50;
  const auto pool = NewPool();
  DelayingQueueOptions<int> options;
  options.clock = &clock_;
  DelayingQueue<int> queue(std::move(options));
  std::atomic<int> processed{0};
  absl::BlockingCounter left(kCoroutines);
  Timers timers(Options());
  const auto work = [](DelayingQueue<int>* queue, AsyncQueue<int> items,
                       AsyncTimers timers,
                       std::atomic<int>* processed) -> Task<void> {
    while (true) {
      const absl::StatusOr<Lease<int>> lease = co_await items.Next();
      if (!lease.ok()) co_return;
      const absl::Status status = co_await timers.After(kSecond);
      if (!status.ok()) co_return;
      ++*processed;
      queue->AddAfter(**lease, kSecond);
    }
  };
  for (int i = 0; i < kCoroutines; ++i) {
    Spawn(pool.get(),
          work(&queue, {&queue, pool.get()}, {&timers, pool.get()}, &processed),
          [&left](absl::Status) { left.DecrementCount(); });
  }
  for (int i = 0; i < kItems; ++i) queue.Add(i);
  for (int i = 1; i <= 20; ++i) {
    clock_.Step(kSecond);
    ASSERT_EQ(processed, (i + 1) / 2 * kItems);
  }
  queue.ShutDown();
  timers.ShutDown();
  left.Wait();
}

}  // namespace
}  // namespace workqueue::async_timers_test

#endif  // __cpp_impl_coroutine
