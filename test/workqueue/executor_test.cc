// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of `InlineExecutor`. This program replaces `operator new` by one that
// counts allocations.

#include "workqueue/executor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/testing/thread.h"

namespace workqueue::executor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(InlineExecutorTest, RunsATaskBeforeExecuteReturns) {
  InlineExecutor executor;
  std::thread::id ran_on;
  executor.Execute([&ran_on] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(InlineExecutorTest, WhatATaskSubmitsRunsAfterIt) {
  InlineExecutor executor;
  std::vector<std::string> events;
  executor.Execute([&] {
    events.push_back("a begins");
    executor.Execute([&] {
      events.push_back("b begins");
      executor.Execute([&] { events.push_back("d"); });
      events.push_back("b ends");
    });
    executor.Execute([&] { events.push_back("c"); });
    events.push_back("a ends");
  });
  EXPECT_THAT(events, ElementsAre("a begins", "a ends", "b begins", "b ends",
                                  "c", "d"));
}

TEST(InlineExecutorTest, TasksOfSeveralExecutorsDoNotNestEither) {
  InlineExecutor one, other;
  std::vector<std::string> events;
  one.Execute([&] {
    other.Execute([&] {
      one.Execute([&] { events.push_back("c"); });
      events.push_back("b");
    });
    events.push_back("a");
  });
  EXPECT_THAT(events, ElementsAre("a", "b", "c"));
}

TEST(InlineExecutorTest, EachThreadRunsItsOwnTasks) {
  InlineExecutor executor;
  std::vector<std::string> events;
  executor.Execute([&] {
    executor.Execute([&] { events.push_back("mine"); });
    Thread([&] {
      executor.Execute([&] { events.push_back("the other thread's"); });
    }).join();
    events.push_back("the first");
  });
  EXPECT_THAT(events, ElementsAre("the other thread's", "the first", "mine"));
}

TEST(InlineExecutorTest, ManyTasksOfOneTaskRunInTheirOrder) {
  static constexpr int kTasks = 1000;
  InlineExecutor executor;
  std::vector<int> ran;
  executor.Execute([&] {
    for (int i = 0; i < kTasks; ++i) {
      executor.Execute([&executor, &ran, i] {
        ran.push_back(i);
        executor.Execute([&ran, i] { ran.push_back(kTasks + i); });
      });
    }
  });
  EXPECT_EQ(ran.size(), 2u * kTasks);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(InlineExecutorTest, DestroysATaskBeforeTheNextRuns) {
  InlineExecutor executor;
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = owned;
  bool destroyed = false;
  executor.Execute([&executor, &destroyed, alive, owned = std::move(owned)] {
    executor.Execute([&destroyed, alive] { destroyed = alive.expired(); });
  });
  EXPECT_TRUE(destroyed);
}

// Each task submits the next one.
TEST(InlineExecutorTest, AChainOfAMillionTasksNeedsNoMoreThanAShortOne) {
  struct Chain {
    void RunOne() {
      const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
      lowest = std::min(lowest, here);
      highest = std::max(highest, here);
      most_bytes = std::max<int64_t>(most_bytes, CountedHeap::bytes_in_use);
      if (--left > 0) executor.Execute([this] { RunOne(); });
    }

    InlineExecutor executor;
    int left = 0;
    uintptr_t lowest = UINTPTR_MAX;
    uintptr_t highest = 0;
    int64_t most_bytes = 0;
  };
  Chain chain;
  const auto run = [&chain](int tasks) {
    chain.left = tasks;
    chain.executor.Execute([&chain] { chain.RunOne(); });
    EXPECT_EQ(chain.left, 0);
  };
  run(10);
  const int64_t bytes = chain.most_bytes;
  run(1000000);
  EXPECT_EQ(chain.most_bytes, bytes);
  // The first task of a chain has another frame than the others.
  EXPECT_LT(chain.highest - chain.lowest, 4096u);
}

#ifndef __MINGW32__  // There it frees its memory after each outermost task.

TEST(InlineExecutorTest, AllocatesNothingInTheSteadyState) {
  InlineExecutor executor;
  int ran = 0;
  const auto cycle = [&] {
    executor.Execute([&executor, &ran] {
      for (int i = 0; i < 50; ++i) executor.Execute([&ran] { ++ran; });
    });
  };
  cycle();
  const int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_EQ(CountedHeap::allocations, before);
  EXPECT_EQ(ran, 101 * 50);
}

#endif

TEST(InlineExecutorTest, FreesTheMemoryOfAPeak) {
  InlineExecutor executor;
  const int64_t before = CountedHeap::bytes_in_use;
  executor.Execute([&executor] {
    for (int i = 0; i < 100000; ++i) executor.Execute([] {});
  });
  EXPECT_LE(CountedHeap::bytes_in_use - before, 32 * 1024);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(InlineExecutorTest, AnExceptionIsLoggedAndDropped) {
  RecordingLog log;
  InlineExecutor executor(&log);
  executor.Execute([] { throw std::runtime_error("boom"); });
  executor.Execute([] { throw 1; });
  EXPECT_THAT(
      log.messages(),
      ElementsAre("E inline executor: a task has thrown: INTERNAL: boom",
                  "E inline executor: a task has thrown: INTERNAL: an "
                  "exception that is no std::exception"));
}

TEST(InlineExecutorTest, WithoutALogAnExceptionIsDropped) {
  InlineExecutor executor;
  executor.Execute([] { throw std::runtime_error("boom"); });
}

TEST(InlineExecutorTest, WhatATaskSubmitsRunsEvenIfTheTaskThrows) {
  RecordingLog log;
  InlineExecutor executor(&log);
  int ran = 0;
  executor.Execute([&] {
    executor.Execute([&] {
      ++ran;
      throw std::runtime_error("second");
    });
    executor.Execute([&] { ++ran; });
    throw std::runtime_error("first");
  });
  EXPECT_EQ(ran, 2);
  EXPECT_THAT(log.messages(),
              ElementsAre("E inline executor: a task has thrown: INTERNAL: "
                          "first",
                          "E inline executor: a task has thrown: INTERNAL: "
                          "second"));
  executor.Execute([&] { ++ran; });
  EXPECT_EQ(ran, 3) << "the executor goes on";
}

// Each executor logs the exceptions of its own tasks.
TEST(InlineExecutorTest, AnExceptionIsLoggedByTheExecutorOfItsTask) {
  RecordingLog log, other_log;
  InlineExecutor one(&log), other(&other_log);
  one.Execute(
      [&other] { other.Execute([] { throw std::runtime_error("boom"); }); });
  EXPECT_THAT(log.messages(), IsEmpty());
  EXPECT_EQ(other_log.messages().size(), 1u);
}

TEST(InlineExecutorTest, WithoutMemoryATaskIsNotSubmitted) {
  // A new thread has no memory left from earlier tasks.
  Thread([] {
    InlineExecutor executor;
    bool ran = false;
    bool ran_second = false;
    executor.Execute([&] {
      CountedHeap::exhausted = true;
      EXPECT_THROW(executor.Execute([&ran] { ran = true; }), std::bad_alloc);
      CountedHeap::exhausted = false;
      executor.Execute([&ran_second] { ran_second = true; });
    });
    EXPECT_FALSE(ran);
    EXPECT_TRUE(ran_second);
  }).join();
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::executor_test
