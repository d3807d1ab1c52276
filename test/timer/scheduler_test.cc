// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/scheduler.h"

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/log_sink.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::scheduler_test {
namespace {

using internal::MutexLock;
using ::workqueue::WaitingSetOptions;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

// Runs with a heap, and with a wheel that ticks every second: every time below
// is a whole number of seconds.
class SchedulerTest : public testing::TestWithParam<bool> {
 protected:
  SchedulerOptions Options(size_t workers) {
    SchedulerOptions options;
    options.clock = &clock_;
    options.workers = workers;
    if (GetParam()) {
      options.waiting_set = *WaitingSetOptions::TimingWheel(kSecond, 8);
    }
    return options;
  }

  std::unique_ptr<Scheduler> New(size_t workers) {
    return *Scheduler::Create(Options(workers));
  }

  // Returns a task that records `name` and the time at which it began.
  Scheduler::Function Note(std::string name) {
    return [this, name] {
      MutexLock lock(&mu_);
      noted_.emplace_back(name, (clock_.TimeNow() - start_) / kSecond);
    };
  }

  // Returns what has been recorded since the last call.
  using Notes = std::vector<std::pair<std::string, double>>;
  Notes Noted() {
    MutexLock lock(&mu_);
    return std::exchange(noted_, Notes());
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();

  absl::Mutex mu_;
  Notes noted_ ABSL_GUARDED_BY(mu_);
};

INSTANTIATE_TEST_SUITE_P(WaitingSet, SchedulerTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Wheel" : "Heap";
                         });

// -----------------------------------------------------------------------------
// Once
// -----------------------------------------------------------------------------

TEST_P(SchedulerTest, ATaskRunsOnceWhenItsDelayIsOver) {
  const auto scheduler = New(2);
  const auto id = scheduler->ScheduleOnce(Note("a"), 5 * kSecond);
  ASSERT_TRUE(id.ok());
  EXPECT_TRUE(*id);
  EXPECT_EQ(scheduler->Len(), 1u);
  clock_.Step(5 * kSecond - kNs);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 5}}));
  EXPECT_EQ(scheduler->Len(), 0u);
  EXPECT_FALSE(scheduler->Cancel(*id));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(SchedulerTest, ZeroAndNegativeDelaysAreDueAtOnce) {
  const auto scheduler = New(1);
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("a"), absl::ZeroDuration()).ok());
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("b"), -kSecond).ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted().size(), 2u);
  ASSERT_TRUE(
      scheduler->ScheduleOnce(Note("c"), -absl::InfiniteDuration()).ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted(), (Notes{{"c", 0}}));
}

TEST_P(SchedulerTest, AnInfiniteDelayIsNeverOver) {
  const auto scheduler = New(1);
  const auto id = scheduler->ScheduleOnce(Note("a"), absl::InfiniteDuration());
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(clock_.GetEarliestWakeupTime(), absl::InfiniteFuture());
  clock_.Step(absl::Hours(24 * 365));
  EXPECT_EQ(Noted(), Notes());
  EXPECT_TRUE(scheduler->Cancel(*id));
}

TEST_P(SchedulerTest, TasksRunInTheOrderOfTheirTimes) {
  const auto scheduler = New(1);
  for (int delay : {3, 1, 4, 2, 5}) {
    ASSERT_TRUE(
        scheduler->ScheduleOnce(Note(std::to_string(delay)), delay * kSecond)
            .ok());
  }
  for (int i = 1; i <= 5; ++i) {
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(clock_.GetEarliestWakeupTime(), start_ + i * kSecond);
    clock_.Step(kSecond);
    EXPECT_EQ(Noted(), (Notes{{std::to_string(i), static_cast<double>(i)}}));
  }
}

TEST_P(SchedulerTest, AnEarlierTaskIsWaitedFor) {
  const auto scheduler = New(3);
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("late"), 9 * kSecond).ok());
  clock_.Step(kSecond);  // A worker waits for that one.
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("early"), kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{{"early", 2}}));
  clock_.Step(7 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"late", 9}}));
}

TEST_P(SchedulerTest, TasksRunOnTheWorkersAtTheSameTime) {
  const auto scheduler = New(3);
  auto* const all = new absl::Barrier(3);
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 3; ++i) {
    const auto run = [all, caller] {
      EXPECT_NE(std::this_thread::get_id(), caller);
      if (all->Block()) delete all;
    };
    ASSERT_TRUE(scheduler->ScheduleOnce(run, kSecond).ok());
  }
  clock_.Step(kSecond);
  EXPECT_EQ(scheduler->Len(), 0u);
}

TEST_P(SchedulerTest, ATaskMaySchedule) {
  const auto scheduler = New(1);
  ASSERT_TRUE(
      scheduler
          ->ScheduleOnce(
              [&] {
                ASSERT_TRUE(scheduler->ScheduleOnce(Note("b"), kSecond).ok());
                ASSERT_TRUE(
                    scheduler->ScheduleOnce(Note("a"), absl::ZeroDuration())
                        .ok());
              },
              kSecond)
          .ok());
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 1}}));
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{{"b", 2}}));
}

// -----------------------------------------------------------------------------
// Periodically
// -----------------------------------------------------------------------------

TEST_P(SchedulerTest, APeriodicTaskRunsAPeriodAfterItsLastStart) {
  const auto scheduler = New(2);
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("a"), 10 * kSecond).ok());
  clock_.Step(10 * kSecond - kNs);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kNs);
  EXPECT_EQ(Noted(), (Notes{{"a", 10}}));
  clock_.Step(35 * kSecond);  // One run, which begins at the end.
  EXPECT_EQ(Noted(), (Notes{{"a", 45}}));
  clock_.Step(9 * kSecond);
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 55}}));
  EXPECT_EQ(scheduler->Len(), 1u);
}

TEST_P(SchedulerTest, AtAFixedRateEachPeriodHasItsRun) {
  const auto scheduler = New(2);
  ScheduleEveryOptions options;
  options.fixed_rate = true;
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("a"), 10 * kSecond, options).ok());
  clock_.Step(10 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 10}}));
  clock_.Step(35 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 45}, {"a", 45}, {"a", 45}}));
  clock_.Step(5 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 50}}));
}

TEST_P(SchedulerTest, TheFirstRunCanHaveAnotherDelay) {
  const auto scheduler = New(2);
  ScheduleEveryOptions options;
  options.initial_delay = absl::ZeroDuration();
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("a"), 10 * kSecond, options).ok());
  options.initial_delay = 25 * kSecond;
  options.fixed_rate = true;
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("b"), 10 * kSecond, options).ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted(), (Notes{{"a", 0}}));
  clock_.Step(10 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 10}}));
  clock_.Step(15 * kSecond);
  EXPECT_EQ(Noted().size(), 2u);
  clock_.Step(10 * kSecond);
  EXPECT_EQ(Noted().size(), 2u);
}

// The rings of a wheel reach the later runs, too.
TEST_P(SchedulerTest, TheThreadSleepsLongAfterAnEarlyFirstRun) {
  const auto scheduler = New(1);
  ScheduleEveryOptions options;
  options.initial_delay = absl::ZeroDuration();
  ASSERT_TRUE(
      scheduler->ScheduleEvery(Note("a"), absl::Hours(1), options).ok());
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(Noted(), (Notes{{"a", 0}}));
  EXPECT_GE(clock_.GetEarliestWakeupTime(), start_ + absl::Minutes(8));
}

TEST_P(SchedulerTest, ANegativeInitialDelayIsNone) {
  for (absl::Duration delay : {-25 * kSecond, -absl::InfiniteDuration()}) {
    const auto scheduler = New(2);
    std::atomic<int> runs{0};
    const auto run = [&] {
      if (++runs == 10) scheduler->ShutDown();  // or it might never end
    };
    ScheduleEveryOptions options;
    options.initial_delay = delay;
    options.fixed_rate = true;
    ASSERT_TRUE(scheduler->ScheduleEvery(run, 10 * kSecond, options).ok());
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(runs, 1);
    clock_.Step(10 * kSecond);
    EXPECT_EQ(runs, 2);
  }
}

// A run that takes 35 seconds, of a task with a period of 10.
TEST_P(SchedulerTest, ARunIsNeverOverlappedByItsNext) {
  const auto scheduler = New(4);
  int at_once = 0;
  const auto run = [&] {
    EXPECT_EQ(++at_once, 1);
    Note("begin")();
    clock_.Sleep(35 * kSecond);
    --at_once;
  };
  ASSERT_TRUE(scheduler->ScheduleEvery(run, 10 * kSecond).ok());
  std::vector<double> begins;
  for (int i = 0; i < 100; ++i) {
    clock_.Step(kSecond);
    for (const auto& note : Noted()) begins.push_back(note.second);
  }
  EXPECT_EQ(begins, (std::vector<double>{10, 45, 80}));
  scheduler->ShutDown();
  clock_.Step(35 * kSecond);
}

TEST_P(SchedulerTest, AtTheLastTimeARunIsNotOverlappedEither) {
  std::atomic<int> runs{0};
  absl::Mutex mu;
  bool end = false;
  const auto scheduler = New(2);
  ASSERT_TRUE(scheduler
                  ->ScheduleEvery(
                      [&] {
                        ++runs;
                        MutexLock lock(&mu);
                        clock_.AwaitWithDeadline(&mu, absl::Condition(&end),
                                                 absl::InfiniteFuture());
                      },
                      kSecond)
                  .ok());
  clock_.Step(absl::InfiniteDuration());
  EXPECT_EQ(runs, 1);
  {
    MutexLock lock(&mu);
    end = true;
  }
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(runs, 1) << "the next run is due a second later, which never comes";
}

TEST_P(SchedulerTest, AtAFixedRateWhatALongRunHeldUpIsMadeUpFor) {
  const auto scheduler = New(4);
  bool first = true;
  const auto run = [&] {
    Note("begin")();
    if (std::exchange(first, false)) clock_.Sleep(35 * kSecond);
  };
  ScheduleEveryOptions options;
  options.fixed_rate = true;
  ASSERT_TRUE(scheduler->ScheduleEvery(run, 10 * kSecond, options).ok());
  std::vector<double> begins;
  for (int i = 0; i < 60; ++i) {
    clock_.Step(kSecond);
    for (const auto& note : Noted()) begins.push_back(note.second);
  }
  EXPECT_EQ(begins, (std::vector<double>{10, 45, 45, 45, 50, 60}));
}

// Hundreds of thousands of heartbeats on a few workers.
TEST_P(SchedulerTest, ManyPeriodicTasks) {
  constexpr int kTasks = 20000;
  std::vector<std::atomic<int>> runs(kTasks);
  const auto scheduler = New(4);
  for (int i = 0; i < kTasks; ++i) {
    ScheduleEveryOptions options;
    options.initial_delay = (1 + i % 10) * kSecond;
    ASSERT_TRUE(
        scheduler
            ->ScheduleEvery([&runs, i] { ++runs[i]; }, 10 * kSecond, options)
            .ok());
  }
  for (int second = 1; second <= 20; ++second) {
    clock_.Step(kSecond);
    for (int i = 0; i < kTasks; ++i) {
      ASSERT_EQ(runs[i], (second - (1 + i % 10) + 10) / 10) << i;
    }
  }
  EXPECT_EQ(scheduler->Len(), static_cast<size_t>(kTasks));
}

// -----------------------------------------------------------------------------
// Cancelling
// -----------------------------------------------------------------------------

TEST_P(SchedulerTest, ACancelledTaskDoesNotRunAndIsDestroyedAtOnce) {
  const auto scheduler = New(1);
  const auto held = std::make_shared<int>(0);
  const auto once = scheduler->ScheduleOnce([held] {}, absl::Hours(1));
  const auto every = scheduler->ScheduleEvery([held] {}, absl::Hours(1));
  ASSERT_TRUE(once.ok());
  ASSERT_TRUE(every.ok());
  EXPECT_EQ(held.use_count(), 3);
  EXPECT_TRUE(scheduler->Cancel(*once));
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_TRUE(scheduler->Cancel(*every));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(scheduler->Len(), 0u);
  EXPECT_FALSE(scheduler->Cancel(*once));
  EXPECT_FALSE(scheduler->Cancel(*every));
  EXPECT_FALSE(scheduler->Cancel(TaskId()));
}

TEST_P(SchedulerTest, AnIdNeverNamesAnotherTask) {
  const auto scheduler = New(1);
  const auto old = scheduler->ScheduleOnce(Note("old"), kSecond);
  ASSERT_TRUE(old.ok());
  clock_.Step(kSecond);
  const auto next = scheduler->ScheduleOnce(Note("next"), kSecond);
  ASSERT_TRUE(next.ok());
  EXPECT_NE(*old, *next);
  EXPECT_FALSE(scheduler->Cancel(*old));
  clock_.Step(kSecond);
  EXPECT_EQ(Noted().back().first, "next");
}

TEST_P(SchedulerTest, APeriodicTaskCanBeCancelledBetweenItsRuns) {
  const auto scheduler = New(2);
  const auto id = scheduler->ScheduleEvery(Note("a"), kSecond);
  ASSERT_TRUE(id.ok());
  clock_.Step(kSecond);
  EXPECT_TRUE(scheduler->Cancel(*id));
  clock_.Step(10 * kSecond);
  EXPECT_EQ(Noted(), (Notes{{"a", 1}}));
}

TEST_P(SchedulerTest, ATaskMayCancelItself) {
  const auto scheduler = New(2);
  const auto held = std::make_shared<int>(0);
  TaskId id;
  int runs = 0;
  const auto scheduled = scheduler->ScheduleEvery(
      [&, held] {
        EXPECT_EQ(scheduler->Cancel(id), ++runs == 3);
        // The function has not been destroyed.
        EXPECT_EQ(held.use_count(), 2);
      },
      kSecond);
  ASSERT_TRUE(scheduled.ok());
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(runs, 2);
  id = *scheduled;
  clock_.Step(kSecond);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(scheduler->Len(), 0u);
  clock_.Step(10 * kSecond);
  EXPECT_EQ(runs, 3);
}

TEST_P(SchedulerTest, ARunInProgressGoesOn) {
  const auto scheduler = New(2);
  const auto held = std::make_shared<int>(0);
  const auto run = [this, held] { clock_.Sleep(5 * kSecond); };
  const auto once = scheduler->ScheduleOnce(run, kSecond);
  const auto every = scheduler->ScheduleEvery(run, kSecond);
  ASSERT_TRUE(once.ok());
  ASSERT_TRUE(every.ok());
  clock_.Step(kSecond);
  EXPECT_FALSE(scheduler->Cancel(*once)) << "it would not have run again";
  EXPECT_TRUE(scheduler->Cancel(*every));
  EXPECT_FALSE(scheduler->Cancel(*every));
  EXPECT_EQ(scheduler->Len(), 2u);
  clock_.Step(5 * kSecond);
  EXPECT_EQ(scheduler->Len(), 0u);
  EXPECT_EQ(held.use_count(), 2) << "the reference of this test";
}

TEST_P(SchedulerTest, CancelAndWaitWaitsForTheRunInProgress) {
  const auto scheduler = New(1);
  bool ended = false;
  const auto held = std::make_shared<int>(0);
  const auto id = scheduler->ScheduleEvery(
      [&ended, this, held] {
        clock_.Sleep(5 * kSecond);
        ended = true;
      },
      kSecond);
  ASSERT_TRUE(id.ok());
  clock_.Step(kSecond);
  Thread canceller([&] {
    EXPECT_TRUE(scheduler->CancelAndWait(*id));
    EXPECT_TRUE(ended);
    EXPECT_EQ(held.use_count(), 1);
  });
  clock_.AwaitWaiters(2);  // The run, and the thread that waits for it.
  clock_.Step(5 * kSecond);
  canceller.join();
}

// The thread that has cancelled the task destroys it.
TEST_P(SchedulerTest, CancelAndWaitWaitsForTheDestructionInProgress) {
  for (const bool shut_down : {false, true}) {
    const auto scheduler = New(1);
    TaskId id;
    bool destroyed = false;
    std::optional<Thread> waiter;
    std::shared_ptr<void> guard(nullptr, [&](void*) {
      waiter.emplace([&] {
        EXPECT_FALSE(scheduler->CancelAndWait(id));
        if (destroyed) return;
        ADD_FAILURE() << "the function is there";
        clock_.Sleep(kSecond);
      });
      clock_.AwaitWaiters(1);
      destroyed = true;
    });
    const auto scheduled =
        scheduler->ScheduleOnce([held = std::move(guard)] {}, kSecond);
    ASSERT_TRUE(scheduled.ok());
    id = *scheduled;
    if (shut_down) {
      scheduler->ShutDown();
    } else {
      EXPECT_TRUE(scheduler->Cancel(id));
    }
    clock_.Step(kSecond);
    waiter->join();
  }
}

TEST_P(SchedulerTest, TheDestructorOfAFunctionDoesNotWaitForItself) {
  const auto scheduler = New(1);
  TaskId id;
  int calls = 0;
  std::shared_ptr<void> guard(nullptr, [&](void*) {
    EXPECT_FALSE(scheduler->Cancel(id));
    EXPECT_FALSE(scheduler->CancelAndWait(id));
    scheduler->ShutDown();
    EXPECT_FALSE(scheduler->ShutDownWithDrain());
    ++calls;
  });
  const auto scheduled =
      scheduler->ScheduleOnce([held = std::move(guard)] {}, kSecond);
  ASSERT_TRUE(scheduled.ok());
  id = *scheduled;
  EXPECT_TRUE(scheduler->Cancel(id));
  EXPECT_EQ(calls, 1);
}

// A shutdown destroys two tasks, one after the other, and each cancels the
// other one.
TEST_P(SchedulerTest, CancelAndWaitDestroysWhatItsThreadWouldDestroyLater) {
  const auto scheduler = New(1);
  TaskId ids[2];
  int destroyed[2] = {};
  for (const int i : {0, 1}) {
    std::shared_ptr<void> guard(nullptr, [&, i](void*) {
      ++destroyed[i];
      EXPECT_FALSE(scheduler->CancelAndWait(ids[1 - i]));
      EXPECT_EQ(destroyed[1 - i], 1);
    });
    const auto id =
        scheduler->ScheduleOnce([held = std::move(guard)] {}, kSecond);
    ASSERT_TRUE(id.ok());
    ids[i] = *id;
  }
  scheduler->ShutDown();
  EXPECT_EQ(destroyed[0], 1);
  EXPECT_EQ(destroyed[1], 1);
  EXPECT_EQ(scheduler->Len(), 0u);
}

TEST_P(SchedulerTest, CancelAndWaitByTheTaskItselfDoesNotWait) {
  const auto scheduler = New(1);
  TaskId id;
  const auto scheduled = scheduler->ScheduleEvery(
      [&] {
        if (id) {
          EXPECT_TRUE(scheduler->CancelAndWait(id));
        }
      },
      kSecond);
  ASSERT_TRUE(scheduled.ok());
  clock_.Step(absl::ZeroDuration());
  id = *scheduled;
  clock_.Step(kSecond);
  EXPECT_EQ(scheduler->Len(), 0u);
  EXPECT_FALSE(scheduler->CancelAndWait(id));
}

// The destructor of a function may call the scheduler.
TEST_P(SchedulerTest, TasksAreDestroyedWithoutTheLock) {
  const auto scheduler = New(1);
  const auto new_guard = [&scheduler] {
    return std::shared_ptr<void>(nullptr,
                                 [&](void*) { (void)scheduler->Len(); });
  };
  const auto cancelled =
      scheduler->ScheduleOnce([guard = new_guard()] {}, kSecond);
  ASSERT_TRUE(scheduler->ScheduleOnce([guard = new_guard()] {}, kSecond).ok());
  ASSERT_TRUE(
      scheduler->ScheduleOnce([guard = new_guard()] {}, absl::Hours(1)).ok());
  EXPECT_TRUE(scheduler->Cancel(*cancelled));
  clock_.Step(kSecond);
  EXPECT_EQ(scheduler->Len(), 1u);
  scheduler->ShutDown();
  EXPECT_EQ(scheduler->Len(), 0u);
}

// So a thread that waits for the end of the run waits for that, too.
TEST_P(SchedulerTest, WhatATaskHeldIsDestroyedBeforeItsLastRunHasEnded) {
  const auto scheduler = New(1);
  int destroyed = 0;
  const auto new_guard = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) {
      EXPECT_EQ(scheduler->Len(), 1u);
      ++destroyed;
    });
  };
  ASSERT_TRUE(scheduler->ScheduleOnce([guard = new_guard()] {}, kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(scheduler->Len(), 0u);

  TaskId id;
  const auto scheduled = scheduler->ScheduleEvery(
      [&, guard = new_guard()] { EXPECT_TRUE(scheduler->Cancel(id)); },
      kSecond);
  ASSERT_TRUE(scheduled.ok());
  id = *scheduled;
  clock_.Step(kSecond);
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(scheduler->Len(), 0u);
}

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

TEST_P(SchedulerTest, AfterShutDownNothingIsScheduledAndNothingRuns) {
  const auto scheduler = New(2);
  const auto held = std::make_shared<int>(0);
  ASSERT_TRUE(scheduler->ScheduleOnce([held] {}, kSecond).ok());
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("a"), kSecond).ok());
  EXPECT_FALSE(scheduler->ShuttingDown());
  scheduler->ShutDown();
  EXPECT_TRUE(scheduler->ShuttingDown());
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(scheduler->Len(), 0u);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      scheduler->ScheduleOnce(Note("b"), kSecond).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      scheduler->ScheduleEvery(Note("c"), kSecond).status()));
  scheduler->ShutDown();
  EXPECT_TRUE(scheduler->ShutDownWithDrain());
}

TEST_P(SchedulerTest, ATaskMayShutDown) {
  const auto scheduler = New(1);
  ASSERT_TRUE(
      scheduler->ScheduleEvery([&] { scheduler->ShutDown(); }, kSecond).ok());
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("a"), 2 * kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(scheduler->Len(), 0u);
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(SchedulerTest, TheDestructorWaitsForRunsInProgress) {
  auto scheduler = New(1);
  bool ended = false;
  ASSERT_TRUE(scheduler
                  ->ScheduleOnce(
                      [&] {
                        clock_.Sleep(5 * kSecond);
                        ended = true;
                      },
                      kSecond)
                  .ok());
  clock_.Step(kSecond);
  Thread destroyer([&] {
    scheduler.reset();
    EXPECT_TRUE(ended);
  });
  clock_.Step(5 * kSecond);
  destroyer.join();
}

// A scheduler whose only worker sleeps until 10 s. Meanwhile two tasks are due,
// one of them periodic, and a third task is not due.
class SchedulerDrainTest : public SchedulerTest {
 protected:
  void SetUp() override {
    scheduler_ = New(1);
    ASSERT_TRUE(
        scheduler_
            ->ScheduleOnce([this] { clock_.SleepUntil(start_ + 10 * kSecond); },
                           kSecond)
            .ok());
    clock_.Step(kSecond);
    ASSERT_TRUE(scheduler_->ScheduleOnce(Note("once"), kSecond).ok());
    ASSERT_TRUE(scheduler_->ScheduleEvery(Note("every"), 2 * kSecond).ok());
    ASSERT_TRUE(scheduler_->ScheduleOnce(Note("later"), 100 * kSecond).ok());
    clock_.Step(3 * kSecond);
    EXPECT_EQ(Noted(), Notes());
  }

  // Returns when the drain on another thread waits.
  void AwaitDrain() {
    clock_.AwaitWaiters(2);  // The drain and the worker, which sleeps.
  }

  std::unique_ptr<Scheduler> scheduler_;
};

INSTANTIATE_TEST_SUITE_P(WaitingSet, SchedulerDrainTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Wheel" : "Heap";
                         });

TEST_P(SchedulerDrainTest, WhatIsDueRunsOnceAndIsWaitedFor) {
  Thread drainer([&] { EXPECT_TRUE(scheduler_->ShutDownWithDrain()); });
  AwaitDrain();
  EXPECT_EQ(scheduler_->Len(), 3u);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      scheduler_->ScheduleOnce(Note("more"), kSecond).status()));
  clock_.Step(6 * kSecond);
  drainer.join();
  EXPECT_EQ(Noted(), (Notes{{"once", 10}, {"every", 10}}));
  clock_.Step(absl::Hours(1));
  EXPECT_EQ(Noted(), Notes());
}

TEST_P(SchedulerDrainTest, ADrainEndsAtItsTimeout) {
  Thread drainer(
      [&] { EXPECT_FALSE(scheduler_->ShutDownWithDrainWithin(5 * kSecond)); });
  AwaitDrain();
  clock_.Step(5 * kSecond);
  drainer.join();
  EXPECT_EQ(Noted(), Notes());
  clock_.Step(kSecond);
  EXPECT_EQ(Noted(), (Notes{{"once", 10}, {"every", 10}}));
}

TEST_P(SchedulerDrainTest, AShutDownEndsADrain) {
  Thread drainer([&] { EXPECT_FALSE(scheduler_->ShutDownWithDrain()); });
  AwaitDrain();
  scheduler_->ShutDown();
  EXPECT_EQ(scheduler_->Len(), 1u);
  clock_.Step(6 * kSecond);
  drainer.join();
  EXPECT_EQ(Noted(), Notes());
}

// A drain runs the tasks that are due when it begins, even if the clock goes
// back. A later drain runs them, too.
TEST_P(SchedulerTest, ADrainRunsWhatWasDueBeforeTheClockWentBack) {
  for (const bool twice : {false, true}) {
    const auto scheduler = New(1);
    const std::unique_ptr<Parker> parker =
        clock_.NewParker(Parker::Role::kCaller);
    const auto wait = [&] { parker->ParkUntil(absl::InfiniteFuture()); };
    ASSERT_TRUE(scheduler->ScheduleOnce(wait, absl::ZeroDuration()).ok());
    ASSERT_TRUE(scheduler->ScheduleOnce(Note("due"), 5 * kSecond).ok());
    clock_.Step(10 * kSecond);
    const auto drain = [&] {
      EXPECT_TRUE(scheduler->ShutDownWithDrainWithin(absl::Hours(1)));
    };
    Thread drainer(drain);
    clock_.AwaitWaiters(2);  // The first task, and the drain.
    clock_.SetTime(start_);
    std::optional<Thread> second;
    if (twice) {
      second.emplace(drain);
      clock_.AwaitWaiters(3);
    }
    parker->Unpark();
    clock_.Step(absl::ZeroDuration());
    EXPECT_EQ(Noted().size(), 1u) << twice;
    clock_.Step(absl::Hours(2));
    drainer.join();
    if (twice) second->join();
    clock_.SetTime(start_);
  }
}

TEST_P(SchedulerTest, ADrainRunsWhatIsDueBetweenTwoTicks) {
  const auto scheduler = New(1);
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("due"), kSecond / 4).ok());
  ASSERT_TRUE(scheduler->ScheduleOnce(Note("later"), kSecond * 3 / 4).ok());
  clock_.Step(kSecond / 2);
  EXPECT_TRUE(scheduler->ShutDownWithDrain());
  EXPECT_EQ(Noted(), (Notes{{"due", 0}}));
}

TEST_P(SchedulerTest, ADrainByATaskDoesNotWait) {
  const auto scheduler = New(1);
  ASSERT_TRUE(
      scheduler
          ->ScheduleOnce([&] { EXPECT_FALSE(scheduler->ShutDownWithDrain()); },
                         kSecond)
          .ok());
  clock_.Step(kSecond);
  EXPECT_TRUE(scheduler->ShuttingDown());
  EXPECT_TRUE(scheduler->ShutDownWithDrain());
}

// -----------------------------------------------------------------------------
// Errors
// -----------------------------------------------------------------------------

TEST_P(SchedulerTest, BadOptionsAreErrors) {
  SchedulerOptions options = Options(0);
  const absl::Status no_workers = Scheduler::Create(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_workers));
  EXPECT_EQ(no_workers.message(), "workers is 0; it must be at least 1");

  const auto scheduler = New(1);
  const auto period_error = [&](absl::Duration period) {
    const absl::Status status =
        scheduler->ScheduleEvery([] {}, period).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(period_error(absl::ZeroDuration()),
            "period is 0; it must be finite and positive");
  EXPECT_EQ(period_error(-kNs),
            "period is -1ns; it must be finite and positive");
  EXPECT_EQ(period_error(absl::InfiniteDuration()),
            "period is inf; it must be finite and positive");
  EXPECT_TRUE(absl::IsInvalidArgument(
      scheduler->ScheduleOnce(nullptr, kSecond).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      scheduler->ScheduleEvery(nullptr, kSecond).status()));
  EXPECT_EQ(scheduler->Len(), 0u);
}

TEST_P(SchedulerTest, ASnapshotHasTheRunsAndTheFirstTasks) {
  const auto scheduler = New(2);
  EXPECT_EQ(scheduler->num_workers(), 2u);
  std::vector<TaskId> ids;
  for (int i : {30, 10, 40, 20}) {
    ids.push_back(*scheduler->ScheduleOnce([] {}, i * kSecond));
  }
  const TaskId every = *scheduler->ScheduleEvery([] {}, 15 * kSecond);
  clock_.Step(kSecond);

  SchedulerSnapshot snapshot = scheduler->TakeSnapshotUpTo(3);
  EXPECT_EQ(snapshot.taken_at, start_ + kSecond);
  EXPECT_FALSE(snapshot.shutting_down);
  EXPECT_EQ(snapshot.num_waiting, 5u);
  EXPECT_EQ(snapshot.running.size(), 0u);
  ASSERT_EQ(snapshot.waiting.size(), 3u);
  EXPECT_EQ(snapshot.waiting[0].id, ids[1]);
  EXPECT_EQ(snapshot.waiting[0].due_at, start_ + 10 * kSecond);
  EXPECT_EQ(snapshot.waiting[0].period, absl::ZeroDuration());
  EXPECT_EQ(snapshot.waiting[1].id, every);
  EXPECT_EQ(snapshot.waiting[1].period, 15 * kSecond);
  EXPECT_EQ(snapshot.waiting[2].id, ids[3]);
  EXPECT_EQ(scheduler->TakeSnapshotUpTo(0).waiting.size(), 0u);
  EXPECT_EQ(scheduler->TakeSnapshotUpTo(100).waiting.size(), 5u);
  scheduler->ShutDown();
  snapshot = scheduler->TakeSnapshotUpTo(100);
  EXPECT_TRUE(snapshot.shutting_down);
  EXPECT_EQ(snapshot.num_waiting, 0u);
}

TEST_P(SchedulerTest, ASnapshotInARunHasThatRun) {
  const auto scheduler = New(1);
  SchedulerSnapshot snapshot;
  const TaskId id = *scheduler->ScheduleEvery(
      [&] { snapshot = scheduler->TakeSnapshotUpTo(10); }, 10 * kSecond);
  const TaskId other = *scheduler->ScheduleOnce([] {}, 25 * kSecond);
  clock_.Step(10 * kSecond);
  ASSERT_EQ(snapshot.running.size(), 1u);
  EXPECT_EQ(snapshot.running[0].id, id);
  EXPECT_EQ(snapshot.running[0].since, start_ + 10 * kSecond);
  EXPECT_EQ(snapshot.running[0].period, 10 * kSecond);
  EXPECT_EQ(snapshot.num_waiting, 1u);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].id, other);
  EXPECT_EQ(scheduler->TakeSnapshotUpTo(10).running.size(), 0u);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(SchedulerTest, ATaskThatThrowsIsReportedAndNothingElseHappens) {
  std::vector<std::pair<TaskId, std::string>> reports;
  SchedulerOptions options = Options(1);
  options.on_exception = [&](TaskId id, std::exception_ptr exception) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& e) {
      reports.emplace_back(id, e.what());
    }
    throw 1;  // It should not throw, but this does no harm.
  };
  const auto scheduler = *Scheduler::Create(std::move(options));
  const auto once = scheduler->ScheduleOnce(
      [] { throw std::runtime_error("once"); }, kSecond);
  const auto every = scheduler->ScheduleEvery(
      [] { throw std::runtime_error("every"); }, 2 * kSecond);
  ASSERT_TRUE(scheduler->ScheduleEvery(Note("other"), 4 * kSecond).ok());
  for (int i = 0; i < 4; ++i) clock_.Step(kSecond);
  EXPECT_EQ(reports,
            (decltype(reports){
                {*once, "once"}, {*every, "every"}, {*every, "every"}}));
  EXPECT_EQ(scheduler->FailedRuns(), 3u);
  EXPECT_EQ(Noted(), (Notes{{"other", 4}}));
  EXPECT_EQ(scheduler->Len(), 2u);
}

TEST_P(SchedulerTest, WithoutAnOnExceptionThrowingIsCounted) {
  const auto scheduler = New(1);
  ASSERT_TRUE(scheduler->ScheduleEvery([] { throw 1; }, kSecond).ok());
  for (int i = 0; i < 4; ++i) clock_.Step(kSecond);
  EXPECT_EQ(scheduler->FailedRuns(), 4u);
}

TEST_P(SchedulerTest, EachRunThatThrowsIsLogged) {
  RecordingLog log;
  SchedulerOptions options = Options(1);
  options.log_sink = &log;
  int reports = 0;
  options.on_exception = [&reports](TaskId, std::exception_ptr) { ++reports; };
  const auto scheduler = *Scheduler::Create(std::move(options));
  ASSERT_TRUE(
      scheduler
          ->ScheduleEvery([] { throw std::runtime_error("every"); }, kSecond)
          .ok());
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(log.messages(),
            (std::vector<std::string>{"E scheduler: a run threw: every",
                                      "E scheduler: a run threw: every"}));
  EXPECT_EQ(reports, 2);
}

TEST_P(SchedulerTest, ManyRunsThatThrowAreFewMessages) {
  RecordingLog log;
  SchedulerOptions options = Options(1);
  options.log_sink = &log;
  const auto scheduler = *Scheduler::Create(std::move(options));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(scheduler->ScheduleOnce([] { throw 1; }, kSecond).ok());
  }
  clock_.Step(kSecond);
  EXPECT_EQ(log.messages().size(), 10u);
  const auto run = [] { throw std::runtime_error("last"); };
  ASSERT_TRUE(scheduler->ScheduleOnce(run, kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(log.Await(11),
            "E scheduler: a run threw: last (errors left out before: 990)");
}

TEST_P(SchedulerTest, MessagesHaveItsName) {
  RecordingLog log;
  SchedulerOptions options = Options(1);
  options.name = "test";
  options.log_sink = &log;
  const auto scheduler = *Scheduler::Create(std::move(options));
  ASSERT_TRUE(scheduler->ScheduleOnce([] { throw 1; }, kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(log.messages(),
            std::vector<std::string>{"E scheduler test: a run threw: an "
                                     "exception that is no std::exception"});
}

TEST_P(SchedulerTest, EachMessageIsALine) {
  RecordingLog log;
  SchedulerOptions options = Options(1);
  options.name = "a\nb";
  options.log_sink = &log;
  const auto scheduler = *Scheduler::Create(std::move(options));
  const auto run = [] {
    throw std::runtime_error("two\nlines" + std::string(2000, '.'));
  };
  ASSERT_TRUE(scheduler->ScheduleOnce(run, kSecond).ok());
  clock_.Step(kSecond);
  EXPECT_EQ(log.messages(), std::vector<std::string>{
                                "E scheduler a\\nb: a run threw: two\\nlines" +
                                std::string(1015, '.') + "... (2009 bytes)"});
}

TEST_P(SchedulerTest, WhatTheLogThrowsIsDropped) {
  class ThrowingLog final : public LogSink {
   public:
    void Log(absl::LogSeverity, absl::string_view) override { throw 1; }
  };
  ThrowingLog log;
  SchedulerOptions options = Options(1);
  options.log_sink = &log;
  int reports = 0;
  options.on_exception = [&reports](TaskId, std::exception_ptr) { ++reports; };
  const auto scheduler = *Scheduler::Create(std::move(options));
  ASSERT_TRUE(scheduler->ScheduleEvery([] { throw 1; }, kSecond).ok());
  clock_.Step(kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(scheduler->FailedRuns(), 2u);
  EXPECT_EQ(reports, 2);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::scheduler_test
