// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// These tests are of queues, executors and timers on a waiting loop that the
// program drives. The test drives it by hand.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timers.h"

namespace workqueue::driven_queue_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);

class DrivenQueueTest : public testing::Test {
 protected:
  // Moves the clock, and does what a program would do then.
  void Step(absl::Duration d) {
    clock_.Step(d);
    while (loop_->RunDue() <= clock_.TimeNow()) {
    }
  }

  template <typename Options>
  Options On() {
    Options options;
    options.clock = loop_;
    return options;
  }

  FakeClock clock_;
  std::atomic<int> wakes_{0};
  std::shared_ptr<WaitingLoop> loop_ =
      std::make_shared<WaitingLoop>(&clock_, [this] { ++wakes_; });
};

using DrivenQueueDeathTest = DrivenQueueTest;

TEST_F(DrivenQueueTest, ADelayingQueueAddsWhatIsDue) {
  DelayingQueue<std::string> queue(On<DelayingQueueOptions<std::string>>());
  Step(absl::ZeroDuration());
  queue.AddAfter("pod", 2 * kSecond);
  queue.AddAfter("pod", kSecond);
  EXPECT_EQ(wakes_, 1);  // The program has not asked since.
  EXPECT_EQ(queue.Len(), 0);
  Step(kSecond);
  EXPECT_EQ(queue.TryGet().value_or("none"), "pod");
  EXPECT_TRUE(queue.Done("pod"));
}

TEST_F(DrivenQueueTest, APriorityQueueAddsWhatIsDue) {
  PriorityQueue<std::string> queue(On<PriorityQueueOptions<std::string>>());
  queue.AddRateLimited("pod");
  EXPECT_EQ(queue.Len(), 0);
  Step(kSecond);
  EXPECT_EQ(queue.TryGet().value_or("none"), "pod");
  EXPECT_TRUE(queue.Done("pod"));
}

TEST_F(DrivenQueueTest, AQueueReportsItsMetrics) {
  RecordingMetrics metrics;
  auto options = On<PriorityQueueOptions<std::string>>();
  options.name = "pods";
  options.metrics_provider = &metrics;
  PriorityQueue<std::string> queue(std::move(options));
  queue.AddAfter("later", absl::Hours(1));
  queue.Add("pod");
  ASSERT_EQ(queue.Get(), "pod");
  Step(3 * kSecond);
  EXPECT_EQ(metrics.record(MetricKind::kLongestRunning).values.back(), 3);
  EXPECT_EQ(metrics.record(MetricKind::kWaitingItems).values.back(), 1);
  EXPECT_TRUE(queue.Done("pod"));
}

// The functions of a queue that block, on the thread of its loop.
template <typename Q>
void ExpectNothingBlocks(Q& queue, FakeClock& clock) {
  const auto code = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(queue.GetWithTimeout(kSecond).status().code(), code);
  Lease<std::string> lease;
  const absl::Status status = queue.AcquireNext(&lease);
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(),
            "the call would block the thread that runs the waiting loop of the "
            "object, and maybe for ever; an asynchronous call does not");
  EXPECT_EQ(queue.AcquireUpTo(2).status().code(), code);
  EXPECT_EQ(queue.TryGet().status().code(),
            absl::StatusCode::kDeadlineExceeded);
  queue.Add("pod");
  EXPECT_EQ(queue.Get(), "pod");  // does not block
  EXPECT_EQ(queue.ShutDownAndDrain(kSecond).status().code(), code);
  EXPECT_FALSE(queue.ShutDownWithDrain());
  EXPECT_TRUE(queue.ShuttingDown());
  EXPECT_TRUE(queue.Done("pod"));
  EXPECT_TRUE(queue.ShutDownWithDrain());  // There is nothing to wait for.
  EXPECT_EQ(queue.Get(), std::nullopt);
  EXPECT_EQ(clock.TimeNow(), absl::UnixEpoch());
}

TEST_F(DrivenQueueTest, NothingBlocksTheThreadOfTheLoop) {
  Queue<std::string> queue(On<QueueOptions<std::string>>());
  ExpectNothingBlocks(queue, clock_);
  DelayingQueue<std::string> delaying(On<DelayingQueueOptions<std::string>>());
  ExpectNothingBlocks(delaying, clock_);
  PriorityQueue<std::string> priority(On<PriorityQueueOptions<std::string>>());
  ExpectNothingBlocks(priority, clock_);
}

TEST_F(DrivenQueueTest, OtherThreadsMayBlock) {
  DelayingQueue<std::string> queue(On<DelayingQueueOptions<std::string>>());
  auto got = Async([&] { return queue.Get(); });
  queue.AddAfter("pod", kSecond);
  Step(kSecond);
  EXPECT_EQ(got.get(), "pod");
  queue.Done("pod");
}

TEST_F(DrivenQueueDeathTest, AGetThatWouldBlockTheLoopAborts) {
  Queue<std::string> queue(On<QueueOptions<std::string>>());
  EXPECT_DEATH(queue.Get(), "Get.*: the call would block the thread that runs");
}

TEST_F(DrivenQueueDeathTest, AQueueThatWouldWaitForTheLoopIsNotDestroyed) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        QueueOptions<std::string> options;
        options.name = "pods";
        options.clock = loop_;
        Queue<std::string> queue(std::move(options));
        queue.AcquireAsync(&executor, [](auto) {});
      },
      "queue pods is destroyed on the thread that runs its waiting loop or an "
      "executor, before its callbacks have been called");
}

// The queue has no loop of its own.
TEST_F(DrivenQueueDeathTest, AQueueThatWouldWaitForAnExecutorIsNotDestroyed) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        Queue<std::string> queue;
        queue.AcquireAsync(&executor, [](auto) {});
      },
      "queue is destroyed on the thread that runs its waiting loop or an "
      "executor, before its callbacks have been called");
}

TEST_F(DrivenQueueDeathTest, NorIfACallbackHasBeenCancelledThatWasOnItsWay) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        Queue<std::string> queue;
        const AcquireId id = queue.AcquireAsync(&executor, [](auto) {});
        queue.Add("pod");
        queue.CancelAcquire(id);
      },
      "queue is destroyed on the thread that runs its waiting loop or an "
      "executor, before its callbacks have been called");
}

TEST_F(DrivenQueueTest, AQueueInWhichAThreadBlocksIsDestroyed) {
  QueueOptions<std::string> options;
  options.clock = loop_;
  auto fifo = std::make_unique<WatchedFifo<std::string>>();
  WatchedFifo<std::string>* const watched = fifo.get();
  options.ordering = std::move(fifo);
  auto queue = std::make_unique<Queue<std::string>>(std::move(options));
  Thread thread([&] { EXPECT_EQ(queue->Get(), std::nullopt); });
  watched->AwaitBlocked(*queue, 1);
  queue.reset();
  thread.join();
}

// The other clients of the loop have their turns in between.
TEST_F(DrivenQueueTest, ManyDueItemsTakeSeveralRuns) {
  DelayingQueue<int> queue(On<DelayingQueueOptions<int>>());
  for (int i = 0; i < 1000; ++i) queue.AddAfter(i, kSecond);
  Step(absl::ZeroDuration());
  clock_.Step(kSecond);
  EXPECT_LE(loop_->RunDue(), clock_.TimeNow());
  EXPECT_GT(queue.Len(), 0u);
  EXPECT_LT(queue.Len(), 500u);
  Step(absl::ZeroDuration());
  EXPECT_EQ(queue.Len(), 1000u);
}

TEST_F(DrivenQueueTest, AQueueThatHasBeenShutDownBeforeIsDestroyed) {
  LoopExecutor executor(loop_);
  std::vector<absl::Status> ends;
  {
    Queue<std::string> queue(On<QueueOptions<std::string>>());
    queue.AcquireAsync(&executor, [&](absl::StatusOr<Lease<std::string>> it) {
      ends.push_back(it.status());
    });
    queue.ShutDown();
    EXPECT_THAT(ends, IsEmpty());
    loop_->RunDue();
  }
  ASSERT_EQ(ends.size(), 1);
  EXPECT_TRUE(absl::IsCancelled(ends[0]));
}

class LoopExecutorTest : public DrivenQueueTest {
 protected:
  absl::AnyInvocable<void() &&> Note(std::string name) {
    return [this, name] { notes_.push_back(name); };
  }

  std::vector<std::string> notes_;
};

TEST_F(LoopExecutorTest, RunsTasksInTheirOrder) {
  LoopExecutor executor(loop_);
  executor.Execute(Note("one"));
  executor.Execute(Note("two"));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_EQ(loop_->RunDue(), absl::UnixEpoch() + WaitingLoop::Heartbeat());
  EXPECT_THAT(notes_, ElementsAre("one", "two"));
}

TEST_F(LoopExecutorTest, WhatATaskSubmitsRunsBehindTheOthers) {
  LoopExecutor executor(loop_);
  executor.Execute([&] { executor.Execute(Note("inner")); });
  executor.Execute(Note("outer"));
  loop_->RunDue();
  EXPECT_THAT(notes_, ElementsAre("outer", "inner"));
}

TEST_F(LoopExecutorTest, TheProgramHasItsTurnAfterAHundredTasks) {
  LoopExecutor executor(loop_);
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs < 250) executor.Execute([&] { again(); });
  };
  executor.Execute([&] { again(); });
  EXPECT_EQ(loop_->RunDue(), absl::UnixEpoch());
  EXPECT_EQ(runs, 100);
  EXPECT_EQ(loop_->RunDue(), absl::UnixEpoch());
  loop_->RunDue();
  EXPECT_EQ(runs, 250);
}

TEST_F(LoopExecutorTest, WakesTheProgramOnceForTasksOfAnotherThread) {
  LoopExecutor executor(loop_);
  loop_->RunDue();
  Thread([&] {
    for (int i = 0; i < 10; ++i) executor.Execute(Note("task"));
  }).join();
  EXPECT_EQ(wakes_, 1);
  loop_->RunDue();
  EXPECT_EQ(notes_.size(), 10);
}

TEST_F(LoopExecutorTest, RunsWhatIsLeftWhenItIsDestroyed) {
  {
    LoopExecutor executor(loop_);
    executor.Execute([&] { executor.Execute(Note("inner")); });
  }
  EXPECT_THAT(notes_, ElementsAre("inner"));
}

TEST_F(LoopExecutorTest, LogsTheExceptionOfATask) {
  RecordingLog log;
  LoopExecutor executor(loop_, &log);
  executor.Execute([] { throw std::runtime_error("oh"); });
  executor.Execute(Note("next"));
  loop_->RunDue();
  EXPECT_THAT(notes_, ElementsAre("next"));
  EXPECT_THAT(log.messages(),
              ElementsAre("E loop executor: a task has thrown: INTERNAL: oh"));
}

TEST_F(LoopExecutorTest, HandsOutAQueue) {
  LoopExecutor executor(loop_);
  Queue<int> queue(On<QueueOptions<int>>());
  std::vector<int> done;
  std::function<void()> next = [&] {
    queue.AcquireAsync(&executor, [&](absl::StatusOr<Lease<int>> lease) {
      if (!lease.ok()) return;
      done.push_back(**lease);
      next();
    });
  };
  next();
  for (int i = 0; i < 3; ++i) queue.Add(i);
  Step(absl::ZeroDuration());
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  EXPECT_EQ(wakes_, 0);  // The program had not asked before.
  queue.ShutDown();
  Step(absl::ZeroDuration());
}

// A wake-up is what costs a system call.
TEST_F(LoopExecutorTest, AHandoverInsideTheLoopWakesNobody) {
  constexpr int kHandovers = 1000;
  LoopExecutor executor(loop_);
  Queue<int> queue(On<QueueOptions<int>>());
  int done = 0;
  std::function<void()> next = [&] {
    queue.AcquireAsync(&executor, [&](absl::StatusOr<Lease<int>> lease) {
      if (!lease.ok()) return;
      if (++done < kHandovers) queue.Add(done);
      next();
    });
  };
  next();
  loop_->RunDue();
  queue.Add(0);
  EXPECT_EQ(wakes_, 1);  // The program has asked before.
  while (loop_->RunDue() <= clock_.TimeNow()) {
  }
  EXPECT_EQ(done, kHandovers);
  EXPECT_EQ(wakes_, 1);
  queue.ShutDown();
  Step(absl::ZeroDuration());
}

class DrivenTimersTest : public LoopExecutorTest {
 protected:
  TimerCallback NoteEnd(std::string name) {
    return [this, name](absl::Status status) {
      notes_.push_back(name + (status.ok() ? "" : ":" + status.ToString()));
    };
  }
};

using DrivenTimersDeathTest = DrivenTimersTest;

TEST_F(DrivenTimersTest, CallBackOnTheLoop) {
  LoopExecutor executor(loop_);
  InlineExecutor at_once;
  Timers timers(On<TimersOptions>());
  timers.CallAfter(kSecond, &executor, NoteEnd("executor"));
  timers.CallAfter(kSecond, &at_once, NoteEnd("inline"));
  const TimerId id = timers.CallAfter(kSecond, &at_once, NoteEnd("cancelled"));
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_THAT(notes_, IsEmpty());
  Step(kSecond);
  EXPECT_THAT(notes_, ElementsAre("inline", "executor"));
}

TEST_F(DrivenTimersTest, AreDestroyedWithCallbacksOfAnInlineExecutor) {
  InlineExecutor at_once;
  {
    Timers timers(On<TimersOptions>());
    timers.CallAfter(kSecond, &at_once, NoteEnd("one"));
  }
  EXPECT_THAT(notes_,
              ElementsAre("one:CANCELLED: the timers have been shut down"));
}

TEST_F(DrivenTimersDeathTest, AreNotDestroyedIfTheyWouldWaitForTheLoop) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        Timers timers(On<TimersOptions>());
        timers.CallAfter(kSecond, &executor, NoteEnd("one"));
      },
      "timers are destroyed on the thread that runs their waiting loop or an "
      "executor, while executors still have callbacks");
}

// The timers have a thread of their own.
TEST_F(DrivenTimersDeathTest, AreNotDestroyedIfTheyWouldWaitForAnExecutor) {
  LoopExecutor executor(loop_);
  EXPECT_DEATH(
      {
        Timers timers;
        timers.CallAfter(absl::Hours(1), &executor, NoteEnd("one"));
      },
      "timers are destroyed on the thread that runs their waiting loop or an "
      "executor, while executors still have callbacks");
}

TEST(TimersDeathTest, ACallbackDestroysNoTimersThatItsExecutorMustCall) {
  EXPECT_DEATH(
      {
        FakeClock clock;
        TimersOptions options;
        options.clock = std::make_shared<WaitingLoop>(&clock);
        LoopExecutor executor(options.clock.loop());
        Timers timers(options);
        auto others = std::make_unique<Timers>(options);
        others->CallAfter(absl::Hours(1), &executor, [](absl::Status) {});
        timers.CallAfter(kSecond, &executor,
                         [&](absl::Status) { others = nullptr; });
        clock.Step(kSecond);
      },
      "timers are destroyed on the thread that runs their waiting loop or an "
      "executor, while executors still have callbacks");
}

}  // namespace
}  // namespace workqueue::driven_queue_test
