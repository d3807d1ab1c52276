// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// These tests are of a waiting loop that the program drives, and of a scheduler
// and a delay queue on it. The test drives it by hand, unless it says
// otherwise.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::driven_loop_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kSecond = absl::Seconds(1);
const absl::Time kStart = absl::FromUnixSeconds(1000);

// Runs `period` after each run, and counts.
class CountingClient final : public WaitingLoop::Client {
 public:
  explicit CountingClient(absl::Duration period) : period_(period) {}

  absl::Time Run(absl::Time now) override {
    ++runs;
    if (on_run != nullptr) on_run();
    return now + period_;
  }

  std::atomic<int> runs{0};
  std::function<void()> on_run;

 private:
  const absl::Duration period_;
};

class DrivenLoopTest : public testing::Test {
 protected:
  // Moves the clock, and does what a program would do then.
  void Step(absl::Duration d) {
    clock_.Step(d);
    while (loop_->RunDue() <= clock_.TimeNow()) {
    }
  }

  FakeClock clock_{kStart};
  std::atomic<int> wakes_{0};
  std::shared_ptr<WaitingLoop> loop_ =
      std::make_shared<WaitingLoop>(&clock_, [this] { ++wakes_; });
};

using DrivenLoopDeathTest = DrivenLoopTest;

TEST_F(DrivenLoopTest, RunsNothingByItself) {
  CountingClient client(kSecond);
  loop_->Add(&client);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(client.runs, 0);
  EXPECT_EQ(loop_->RunDue(), kStart + absl::Hours(1) + kSecond);
  EXPECT_EQ(client.runs, 1);
  loop_->Remove(&client);
}

TEST_F(DrivenLoopTest, TellsTheTimeOfTheNextRun) {
  EXPECT_TRUE(loop_->driven());
  EXPECT_EQ(loop_->RunDue(), absl::InfiniteFuture());
  CountingClient one(3 * kSecond), two(kSecond);
  loop_->Add(&one);
  loop_->Add(&two);
  EXPECT_LE(loop_->NextRun(), kStart);
  EXPECT_EQ(loop_->RunDue(), kStart + kSecond);
  EXPECT_EQ(loop_->NextRun(), kStart + kSecond);
  loop_->Remove(&two);
  EXPECT_EQ(loop_->NextRun(), kStart + 3 * kSecond);
  loop_->Remove(&one);
  EXPECT_EQ(loop_->NextRun(), absl::InfiniteFuture());
}

TEST_F(DrivenLoopTest, RunsAClientAtTheHeartbeatAtTheLatest) {
  CountingClient client(absl::InfiniteDuration());
  loop_->Add(&client);
  EXPECT_EQ(loop_->RunDue(), kStart + WaitingLoop::Heartbeat());
  loop_->Remove(&client);
}

TEST_F(DrivenLoopTest, RunsEachClientOnceInACall) {
  CountingClient always(absl::ZeroDuration()), other(absl::ZeroDuration());
  loop_->Add(&always);
  loop_->Add(&other);
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(loop_->RunDue(), kStart);
    EXPECT_EQ(always.runs, i);
    EXPECT_EQ(other.runs, i);
  }
  loop_->Remove(&always);
  loop_->Remove(&other);
}

TEST_F(DrivenLoopTest, WakesTheProgramOnceIfTheNextRunIsEarlier) {
  CountingClient client(5 * kSecond), other(absl::InfiniteDuration());
  loop_->Add(&client);
  EXPECT_EQ(wakes_, 0);  // The program has not asked yet.
  loop_->RunDue();
  loop_->Add(&other);
  EXPECT_EQ(wakes_, 1);
  loop_->Wake(&client);  // The program has not asked since.
  EXPECT_EQ(wakes_, 1);
  EXPECT_LE(loop_->NextRun(), kStart);  // It knows.
  loop_->Wake(&client);
  EXPECT_EQ(wakes_, 1);
  loop_->RunDue();
  loop_->Wake(&client);
  EXPECT_EQ(wakes_, 2);
  loop_->Remove(&client);
  loop_->Remove(&other);
}

TEST_F(DrivenLoopTest, WakingARemovedClientDoesNotWakeTheProgram) {
  CountingClient client(kSecond);
  loop_->Add(&client);
  loop_->RunDue();
  loop_->Remove(&client);
  EXPECT_EQ(loop_->NextRun(), absl::InfiniteFuture());
  loop_->Wake(&client);
  EXPECT_EQ(wakes_, 0);
}

TEST_F(DrivenLoopTest, ARunThatWakesClientsWakesNobody) {
  CountingClient client(kSecond), other(kSecond);
  loop_->Add(&client);
  loop_->Add(&other);
  client.on_run = [&] { loop_->Wake(&other); };
  loop_->RunDue();
  Step(kSecond);
  EXPECT_EQ(wakes_, 1);  // by the clock
  EXPECT_GE(other.runs, 2);
  loop_->Remove(&client);
  loop_->Remove(&other);
}

TEST_F(DrivenLoopTest, AClientCanRemoveItself) {
  CountingClient client(kSecond);
  client.on_run = [&] { loop_->Remove(&client); };
  loop_->Add(&client);
  EXPECT_EQ(loop_->RunDue(), absl::InfiniteFuture());
  EXPECT_EQ(client.runs, 1);
}

TEST_F(DrivenLoopTest, ARemovalOnAnotherThreadWaitsForTheRun) {
  CountingClient client(kSecond);
  std::atomic<bool> removed{false};
  Thread remover;
  client.on_run = [&] {
    remover = Thread([&] {
      loop_->Remove(&client);
      removed = true;
    });
    // The client has no turn any more as soon as the other thread has begun.
    while (loop_->NextRun() != absl::InfiniteFuture())
      std::this_thread::yield();
    EXPECT_FALSE(removed);
  };
  loop_->Add(&client);
  loop_->RunDue();
  remover.join();
  EXPECT_TRUE(removed);
}

TEST_F(DrivenLoopTest, SeesThatTheClockHasGoneBack) {
  CountingClient client(kSecond);
  loop_->Add(&client);
  loop_->RunDue();
  clock_.SetTime(kStart - absl::Hours(1));
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(loop_->RunDue(), kStart - absl::Hours(1) + kSecond);
  EXPECT_EQ(client.runs, 2);
  loop_->Remove(&client);
}

TEST_F(DrivenLoopTest, KnowsItsThread) {
  EXPECT_TRUE(loop_->IsRunHere());  // It was made here.
  Thread([this] {
    EXPECT_FALSE(loop_->IsRunHere());
    loop_->RunDue();
    EXPECT_TRUE(loop_->IsRunHere());
  }).join();
  EXPECT_FALSE(loop_->IsRunHere());
  EXPECT_FALSE(WaitingLoop(&clock_).IsRunHere());
}

TEST_F(DrivenLoopTest, TheClockTellsOfTheNextRun) {
  EXPECT_FALSE(clock_.HasWaiters());
  CountingClient client(kSecond);
  loop_->Add(&client);
  loop_->RunDue();
  EXPECT_EQ(clock_.NumWaiters(), 1);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), kStart + kSecond);
  loop_->Remove(&client);
}

// Another thread drives the loop, and sleeps where the clock does not see it.
TEST_F(DrivenLoopTest, AStepWaitsForTheThreadThatRunsTheLoop) {
  absl::Mutex mu;
  bool woken = false;
  std::atomic<bool> stop{false};
  const auto wake = [&] {
    absl::MutexLock lock(&mu);
    woken = true;
  };
  const auto loop = std::make_shared<WaitingLoop>(&clock_, wake);
  std::atomic<bool> runs{false};
  CountingClient client(kSecond);
  Thread program([&] {
    while (!stop) {
      loop->RunDue();
      runs = true;
      absl::MutexLock lock(&mu);
      mu.Await(absl::Condition(&woken));
      woken = false;
    }
  });
  while (!runs) std::this_thread::yield();
  loop->Add(&client);
  for (int i = 1; i <= 100; ++i) {
    clock_.Step(i == 1 ? absl::ZeroDuration() : kSecond);
    EXPECT_EQ(client.runs, i);
  }
  loop->Wake(&client);
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(client.runs, 101);
  loop->Remove(&client);
  stop = true;
  wake();
  program.join();
}

TEST_F(DrivenLoopDeathTest, RefusesToBeDestroyedWithClients) {
  CountingClient client(kSecond);
  EXPECT_DEATH(
      {
        WaitingLoop loop(&clock_, [] {});
        loop.Add(&client);
      },
      "a waiting loop is destroyed before its clients; left: 1");
}

TEST_F(DrivenLoopDeathTest, RefusesASecondRunAtTheSameTime) {
  CountingClient client(kSecond);
  client.on_run = [this] { loop_->RunDue(); };
  loop_->Add(&client);
  EXPECT_DEATH(loop_->RunDue(), "a waiting loop is run twice at the same time");
  loop_->Remove(&client);
}

TEST_F(DrivenLoopDeathTest, ALoopWithAThreadIsNotDriven) {
  EXPECT_DEATH(WaitingLoop(&clock_).RunDue(), "RunDue.* with a thread");
}

class DrivenSchedulerTest : public DrivenLoopTest {
 protected:
  std::unique_ptr<Scheduler> New() {
    SchedulerOptions options;
    options.clock = loop_;
    auto scheduler = Scheduler::Create(std::move(options));
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    return *std::move(scheduler);
  }

  Scheduler::Function Note(std::string name) {
    return [this, name] {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      notes_.push_back(name);
    };
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::string> notes_;
};

TEST_F(DrivenSchedulerTest, RunsTasksOnTheLoop) {
  const auto scheduler = New();
  EXPECT_EQ(scheduler->num_workers(), 1);
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("two"), 2 * kSecond).ok());
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("one"), kSecond).ok());
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("now"), absl::ZeroDuration()).ok());
  EXPECT_THAT(notes_, IsEmpty());
  Step(absl::ZeroDuration());
  EXPECT_THAT(notes_, ElementsAre("now"));
  EXPECT_EQ(loop_->NextRun(), kStart + kSecond);
  Step(2 * kSecond);
  EXPECT_THAT(notes_, ElementsAre("now", "one", "two"));
  EXPECT_EQ(scheduler->Len(), 0);
}

TEST_F(DrivenSchedulerTest, WakesTheProgramForAnEarlierTaskOnly) {
  const auto scheduler = New();
  loop_->RunDue();
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("late"), 5 * kSecond).ok());
  EXPECT_EQ(wakes_, 1);
  loop_->RunDue();
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("later"), 6 * kSecond).ok());
  EXPECT_EQ(wakes_, 1);
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("sooner"), kSecond).ok());
  EXPECT_EQ(wakes_, 2);
}

TEST_F(DrivenSchedulerTest, RunsAPeriodicTaskUntilItCancelsItself) {
  const auto scheduler = New();
  TaskId id;
  int runs = 0;
  id = *scheduler->ScheduleEvery(
      [&] {
        if (++runs == 3) {
          EXPECT_TRUE(scheduler->CancelAndWait(id));
        }
      },
      kSecond);
  for (int i = 0; i < 10; ++i) Step(kSecond);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(scheduler->Len(), 0);
}

TEST_F(DrivenSchedulerTest, OtherClientsHaveTheirTurn) {
  const auto scheduler = New();
  int runs = 0;
  for (int i = 0; i < 250; ++i) {
    ASSERT_TRUE(
        scheduler->ScheduleOnce([&] { ++runs; }, absl::ZeroDuration()).ok());
  }
  CountingClient other(absl::ZeroDuration());
  loop_->Add(&other);
  loop_->RunDue();
  EXPECT_EQ(runs, 100);
  EXPECT_EQ(other.runs, 1);
  loop_->RunDue();
  loop_->RunDue();
  EXPECT_EQ(runs, 250);
  loop_->Remove(&other);
}

TEST_F(DrivenSchedulerTest, ADrainOnTheLoopDoesNotBlock) {
  const auto scheduler = New();
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("due"), absl::ZeroDuration()).ok());
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("later"), kSecond).ok());
  EXPECT_FALSE(scheduler->ShutDownWithDrain());
  Step(absl::ZeroDuration());
  EXPECT_THAT(notes_, ElementsAre("due"));
  EXPECT_EQ(scheduler->Len(), 0);
}

TEST_F(DrivenSchedulerTest, ADrainOnAnotherThreadWaitsForTheLoop) {
  const auto scheduler = New();
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("due"), absl::ZeroDuration()).ok());
  auto drained = Async([&] { return scheduler->ShutDownWithDrain(); });
  while (!scheduler->ShuttingDown()) std::this_thread::yield();
  loop_->RunDue();
  EXPECT_TRUE(drained.get());
  EXPECT_THAT(notes_, ElementsAre("due"));
}

TEST_F(DrivenSchedulerTest, DropsItsTasksWhenItIsDestroyed) {
  auto scheduler = New();
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("due"), absl::ZeroDuration()).ok());
  scheduler = nullptr;
  Step(kSecond);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(DrivenSchedulerTest, HasNoWorkersOfItsOwn) {
  SchedulerOptions options;
  options.clock = loop_;
  options.workers = 2;
  EXPECT_EQ(Scheduler::Create(std::move(options)).status(),
            absl::InvalidArgumentError(
                "workers is 2, and clock is a loop; the thread of the loop "
                "runs the tasks"));
}

class DrivenDelayQueueTest : public DrivenLoopTest {
 protected:
  DelayQueueOptions Options() {
    DelayQueueOptions options;
    options.clock = loop_;
    return options;
  }

  std::vector<std::string> received_;
};

using DrivenDelayQueueDeathTest = DrivenDelayQueueTest;

TEST_F(DrivenDelayQueueTest, HandsOutValuesWhenTheyAreDue) {
  DelayQueue<std::unique_ptr<std::string>> queue(
      Options(), [this](std::unique_ptr<std::string> value) {
        received_.push_back(*value);
      });
  Step(absl::ZeroDuration());
  const auto push = [&](const char* value, absl::Duration delay) {
    return queue.Push(std::make_unique<std::string>(value), delay);
  };
  push("two", 2 * kSecond);
  push("one", kSecond);
  const auto dropped = push("dropped", kSecond);
  const auto moved = push("moved", kSecond);
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(queue.Cancel(dropped));
  EXPECT_TRUE(queue.Reset(moved, 3 * kSecond));
  Step(kSecond);
  EXPECT_THAT(received_, ElementsAre("one"));
  EXPECT_EQ(loop_->NextRun(), kStart + 2 * kSecond);
  Step(2 * kSecond);
  EXPECT_THAT(received_, ElementsAre("one", "two", "moved"));
  EXPECT_EQ(queue.Len(), 0);
}

TEST_F(DrivenDelayQueueTest, TheFunctionMayUseTheQueue) {
  std::optional<DelayQueue<int>> queue;
  std::vector<int> received;
  queue.emplace(Options(), [&](int value) {
    received.push_back(value);
    if (value < 3) queue->Push(value + 1, absl::ZeroDuration());
  });
  queue->Push(1, kSecond);
  Step(kSecond);
  EXPECT_THAT(received, ElementsAre(1, 2, 3));
  queue.reset();
}

TEST_F(DrivenDelayQueueTest, AnExceptionOfTheFunctionIsDropped) {
  DelayQueue<std::string> queue(Options(), [this](std::string value) {
    received_.push_back(value);
    throw 1;
  });
  queue.Push("one", absl::ZeroDuration());
  queue.Push("two", absl::ZeroDuration());
  Step(absl::ZeroDuration());
  EXPECT_THAT(received_, ElementsAre("one", "two"));
}

TEST_F(DrivenDelayQueueTest, HandsOutAfterAShutdownWhatIsDue) {
  DelayQueue<std::string> queue(
      Options(), [this](std::string value) { received_.push_back(value); });
  queue.Push("due", absl::ZeroDuration());
  queue.Push("later", kSecond);
  queue.ShutDown();
  Step(kSecond);
  EXPECT_THAT(received_, ElementsAre("due"));
}

TEST_F(DrivenDelayQueueTest, ACallThatWouldBlockTheLoopFails) {
  DelayQueue<std::string> queue(Options());
  EXPECT_EQ(queue.TryTake().status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue.TakeWithTimeout(kSecond).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue.TakeUpTo(2).status().code(),
            absl::StatusCode::kFailedPrecondition);
  queue.Push("due", absl::ZeroDuration());
  EXPECT_EQ(queue.Take(), "due");
}

TEST_F(DrivenDelayQueueDeathTest, ATakeThatWouldBlockTheLoopAborts) {
  DelayQueue<std::string> queue(Options());
  EXPECT_DEATH(queue.Take(), "Take.*: the call would block the thread that");
}

}  // namespace
}  // namespace workqueue::driven_loop_test
