// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This program replaces `operator new` by one that counts allocations.

#include "workqueue/thread_pool.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/testing/thread.h"

namespace workqueue::thread_pool_test {
namespace {

using ::testing::ElementsAre;

// Makes a pool on `clock`.
std::unique_ptr<ThreadPool> NewPool(FakeClock* clock, size_t threads,
                                    LogSink* log_sink = nullptr) {
  ThreadPoolOptions options;
  options.name = "test";
  options.threads = threads;
  options.clock = clock;
  options.log_sink = log_sink;
  return *ThreadPool::Create(std::move(options));
}

// Runs a task on each of `threads` threads at the same time.
void RunOnAllThreads(ThreadPool& pool, FakeClock& clock, int threads) {
  auto* const all = new absl::Barrier(threads);
  std::atomic<int> ran{0};
  for (int i = 0; i < threads; ++i) {
    pool.Execute([all, &ran] {
      if (all->Block()) delete all;
      ++ran;
    });
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(ran, threads);
}

TEST(ThreadPoolTest, RunsTasksInTheOrderOfTheirSubmission) {
  constexpr int kTasks = 1000;
  FakeClock clock;
  std::vector<int> ran;
  const auto pool = NewPool(&clock, 1);
  for (int i = 0; i < kTasks; ++i) {
    pool->Execute([&ran, i] { ran.push_back(i); });
  }
  clock.Step(absl::ZeroDuration());
  ASSERT_EQ(ran.size(), size_t{kTasks});
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(ran[i], i);
}

TEST(ThreadPoolTest, UsesAllItsThreads) {
  FakeClock clock;
  const auto pool = NewPool(&clock, 8);
  for (int i = 0; i < 10; ++i) RunOnAllThreads(*pool, clock, 8);
}

TEST(ThreadPoolTest, HasFourThreadsByDefault) {
  FakeClock clock;
  ThreadPoolOptions options;
  options.clock = &clock;
  const auto pool = *ThreadPool::Create(options);
  RunOnAllThreads(*pool, clock, 4);
}

TEST(ThreadPoolTest, UsesOneThreadForOneTaskAtATime) {
  FakeClock clock;
  std::set<std::thread::id> threads;
  const auto pool = NewPool(&clock, 8);
  clock.Step(absl::ZeroDuration());  // All threads are idle.
  for (int i = 0; i < 20; ++i) {
    pool->Execute([&threads] { threads.insert(std::this_thread::get_id()); });
    clock.Step(absl::ZeroDuration());
  }
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

TEST(ThreadPoolTest, WhatATaskSubmitsRunsAfterIt) {
  FakeClock clock;
  std::vector<std::string> events;
  const auto pool = NewPool(&clock, 1);
  pool->Execute([&] {
    pool->Execute([&] { events.push_back("b"); });
    events.push_back("a");
  });
  clock.Step(absl::ZeroDuration());
  EXPECT_THAT(events, ElementsAre("a", "b"));
}

// Each task submits the next one.
TEST(ThreadPoolTest, StepWaitsForAChainOfTasks) {
  struct Chain {
    void RunOne() {
      if (--left > 0) pool->Execute([this] { RunOne(); });
    }

    ThreadPool* pool = nullptr;
    std::atomic<int> left{10000};
  };
  FakeClock clock;
  Chain chain;
  const auto pool = NewPool(&clock, 3);
  chain.pool = pool.get();
  pool->Execute([&chain] { chain.RunOne(); });
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(chain.left, 0);
}

// The thread has not parked before it runs the task.
TEST(ThreadPoolTest, StepDoesNotWaitForATaskThatWaitsOnTheClock) {
  for (int round = 0; round < 20; ++round) {
    FakeClock clock;
    std::atomic<bool> done{false};
    const auto pool = NewPool(&clock, 1);
    pool->Execute([&clock, &done] {
      clock.Sleep(absl::Seconds(1));
      done = true;
    });
    clock.AwaitWaiters(1);
    clock.Step(absl::ZeroDuration());
    EXPECT_FALSE(done);
    clock.Step(absl::Seconds(1));
    EXPECT_TRUE(done);
  }
}

TEST(ThreadPoolTest, AClockThatGoesBackDisturbsNothing) {
  FakeClock clock;
  const absl::Time start = clock.TimeNow();
  const auto pool = NewPool(&clock, 3);
  for (int i = 1; i <= 10; ++i) {
    clock.SetTime(start - absl::Hours(i));
    clock.SetTime(start - absl::Hours(i) - absl::Seconds(1));
    RunOnAllThreads(*pool, clock, 3);
  }
  // It goes back while all threads run tasks, too.
  std::atomic<int> running{0};
  for (int i = 0; i < 3; ++i) {
    pool->Execute([&] {
      ++running;
      clock.Sleep(absl::Seconds(1));
      --running;
    });
  }
  clock.AwaitWaiters(3);
  clock.SetTime(start - absl::Hours(100));
  EXPECT_EQ(running, 3);
  clock.SetTime(start + absl::Hours(1));
  EXPECT_EQ(running, 0);
  RunOnAllThreads(*pool, clock, 3);
}

TEST(ThreadPoolTest, TheDestructorRunsAllTasks) {
  constexpr int kTasks = 1000;
  for (size_t threads : {1, 4}) {
    std::atomic<int> ran{0};
    {
      absl::Notification go_on;
      ThreadPoolOptions options;
      options.threads = threads;
      const auto pool = *ThreadPool::Create(options);
      for (size_t i = 0; i < threads; ++i) {
        pool->Execute([&go_on] { go_on.WaitForNotification(); });
      }
      for (int i = 0; i < kTasks; ++i) {
        pool->Execute(
            [&ran, p = pool.get()] { p->Execute([&ran] { ++ran; }); });
      }
      go_on.Notify();
    }
    EXPECT_EQ(ran, kTasks);
  }
}

TEST(ThreadPoolTest, TheDestructorEndsIdleThreads) {
  FakeClock clock;
  const auto pool = NewPool(&clock, 4);
  clock.Step(absl::ZeroDuration());  // All threads are idle.
}

// It begins at any moment of the first task.
TEST(ThreadPoolTest, DuringTheDestructorATaskCanWaitForOneThatItSubmits) {
  for (int round = 0; round < 100; ++round) {
    FakeClock clock;
    absl::Notification closing;
    auto pool = NewPool(&clock, 2);
    pool->Execute([&closing, p = pool.get()] {
      closing.WaitForNotification();
      absl::Notification done;
      p->Execute([&done] { done.Notify(); });
      done.WaitForNotification();
    });
    clock.AwaitWaiters(1);  // The other thread is idle.
    Thread destroyer([&pool] { pool = nullptr; });
    for (int i = 0; i < 10 * round; ++i) sync::Yield();
    closing.Notify();
    destroyer.join();
  }
}

TEST(ThreadPoolTest, TheClockGoesOnWhileTheDestructorWaitsForATask) {
  FakeClock clock;
  auto pool = NewPool(&clock, 2);
  pool->Execute([&clock] { clock.Sleep(absl::Seconds(1)); });
  clock.AwaitWaiters(2);  // The task sleeps, and the other thread is idle.
  Thread destroyer([&pool] { pool = nullptr; });
  clock.Step(absl::Seconds(1));
  destroyer.join();
}

TEST(ThreadPoolTest, DestroysATaskBeforeItsThreadIsIdle) {
  FakeClock clock;
  const auto pool = NewPool(&clock, 1);
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owned;
  pool->Execute([owned = std::move(owned)] {});
  clock.Step(absl::ZeroDuration());
  EXPECT_TRUE(alive.expired());
}

TEST(ThreadPoolTest, NeedsAThread) {
  ThreadPoolOptions options;
  options.threads = 0;
  EXPECT_EQ(ThreadPool::Create(options).status(),
            absl::InvalidArgumentError("threads is 0; it must be at least 1"));
}

TEST(ThreadPoolTest, AllocatesNothingInTheSteadyState) {
  const auto pool = *ThreadPool::Create();
  const auto cycle = [&pool] {
    absl::BlockingCounter all(50);
    for (int i = 0; i < 50; ++i) {
      pool->Execute([&all] { all.DecrementCount(); });
    }
    all.Wait();
  };
  int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 10; ++i) cycle();
  EXPECT_GT(CountedHeap::allocations, before) << "it does count";
  before = CountedHeap::allocations;
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_EQ(CountedHeap::allocations, before);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(ThreadPoolTest, AnExceptionIsLoggedAndDropped) {
  FakeClock clock;
  RecordingLog log;
  bool ran = false;
  const auto pool = NewPool(&clock, 1, &log);
  pool->Execute([] { throw std::runtime_error("boom"); });
  pool->Execute([&ran] { ran = true; });
  clock.Step(absl::ZeroDuration());
  EXPECT_TRUE(ran);
  EXPECT_THAT(
      log.messages(),
      ElementsAre("E thread pool test: a task has thrown: INTERNAL: boom"));
}

TEST(ThreadPoolTest, AtMostTenMessagesComeAtOnce) {
  FakeClock clock;
  RecordingLog log;
  const auto pool = NewPool(&clock, 1, &log);
  for (int i = 0; i < 100; ++i) {
    pool->Execute([] { throw std::runtime_error("boom"); });
  }
  clock.Step(absl::ZeroDuration());
  EXPECT_EQ(log.messages().size(), 10u);
}

TEST(ThreadPoolTest, WithoutALogAnExceptionIsDropped) {
  FakeClock clock;
  const auto pool = NewPool(&clock, 1);
  pool->Execute([] { throw std::runtime_error("boom"); });
  RunOnAllThreads(*pool, clock, 1);
}

// For example a negative number that was converted to `size_t`.
TEST(ThreadPoolTest, TooManyThreadsAreAnError) {
  ThreadPoolOptions options;
  options.threads = std::numeric_limits<size_t>::max();
  EXPECT_TRUE(absl::IsResourceExhausted(ThreadPool::Create(options).status()));
}

TEST(ThreadPoolTest, WithoutMemoryATaskIsNotSubmitted) {
  FakeClock clock;
  bool ran = false;
  const auto pool = NewPool(&clock, 1);
  CountedHeap::exhausted = true;
  EXPECT_THROW(pool->Execute([&ran] { ran = true; }), std::bad_alloc);
  CountedHeap::exhausted = false;
  clock.Step(absl::ZeroDuration());
  EXPECT_FALSE(ran);
  RunOnAllThreads(*pool, clock, 1);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::thread_pool_test
