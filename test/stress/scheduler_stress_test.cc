// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests many threads on a scheduler, on the real clock.

#include <atomic>
#include <memory>
#include <random>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/threads.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::scheduler_stress_test {
namespace {

using internal::MutexLock;

absl::Time Now() { return RealClock()->TimeNow(); }

#ifdef ABSL_HAVE_EXCEPTIONS
constexpr bool kThrows = true;
void MaybeThrow() { throw 1; }
#else
constexpr bool kThrows = false;
void MaybeThrow() {}
#endif

// Returns a scheduler with a heap, or with a wheel so small that longer delays
// go through several rings.
std::unique_ptr<Scheduler> NewScheduler(bool timing_wheel) {
  SchedulerOptions options;
  if (timing_wheel) {
    options.waiting_set =
        *WaitingSetOptions::TimingWheel(absl::Microseconds(50), /*slots=*/4);
  }
  return *Scheduler::Create(std::move(options));
}

class SchedulerStressTest : public testing::TestWithParam<bool> {
 protected:
  const std::unique_ptr<Scheduler> scheduler_ = NewScheduler(GetParam());
};

INSTANTIATE_TEST_SUITE_P(WaitingSets, SchedulerStressTest, testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "TimingWheel" : "Heap";
                         });

// -----------------------------------------------------------------------------
// Once
// -----------------------------------------------------------------------------

// Numbered tasks that are scheduled once, and that all threads cancel.
class OneOffTasks {
 public:
  // There are `parents` tasks to schedule. Each has a child, which its run may
  // schedule.
  OneOffTasks(Scheduler* scheduler, int parents)
      : scheduler_(scheduler), parents_(parents), tasks_(2 * parents) {}

  void Schedule(int task, absl::Duration delay) {
    tasks_[task].scheduled = true;
    // The clock advances in the meantime, so the scheduler's own time is not
    // earlier than this.
    const absl::Time not_before = Now() + delay;
    const auto id = scheduler_->ScheduleOnce(
        [this, task, not_before, held = held_] { Run(task, not_before); },
        delay);
    ASSERT_TRUE(id.ok());
    MutexLock lock(&mu_);
    tasks_[task].id = *id;
  }

  void Cancel(int task) { Cancelled(task, scheduler_->Cancel(Id(task))); }

  void CancelAndWait(int task) {
    const TaskId id = Id(task);
    Cancelled(task, scheduler_->CancelAndWait(id));
    if (!id) return;  // The task may be in the course of being scheduled.
    EXPECT_FALSE(tasks_[task].running);
    tasks_[task].over = true;
  }

  // Call this once everything has ended.
  void ExpectEachRanOnceOrWasCancelled() {
    for (const Task& task : tasks_) {
      EXPECT_EQ(task.runs, task.scheduled && !task.cancelled ? 1 : 0);
    }
    EXPECT_EQ(held_.use_count(), 1);
    EXPECT_EQ(scheduler_->FailedRuns(), thrown_);
  }

 private:
  struct Task {
    TaskId id;  // guarded by mu_; names no task until it is known
    std::atomic<bool> scheduled{false};
    std::atomic<bool> running{false};
    std::atomic<int> runs{0};
    std::atomic<bool> cancelled{false};  // whether a cancel prevented a run
    std::atomic<bool> over{false};       // no run may begin any more
  };

  TaskId Id(int task) {
    MutexLock lock(&mu_);
    return tasks_[task].id;
  }

  void Cancelled(int task, bool would_have_run) {
    if (!would_have_run) return;
    EXPECT_FALSE(tasks_[task].cancelled.exchange(true));
  }

  void Run(int task, absl::Time not_before) {
    EXPECT_GE(Now(), not_before);
    EXPECT_FALSE(tasks_[task].over);
    tasks_[task].running = true;
    ++tasks_[task].runs;
    switch (task % 5) {
      case 0:
        if (task < parents_) {
          Schedule(parents_ + task, absl::Microseconds(task % 100));
        }
        break;
      case 1:
        Cancel(task * 7 % parents_);
        break;
      case 2:
        EXPECT_FALSE(scheduler_->CancelAndWait(Id(task)));
        break;
      case 3:
        tasks_[task].running = false;
        if (kThrows) ++thrown_;
        MaybeThrow();
    }
    tasks_[task].running = false;
  }

  Scheduler* const scheduler_;
  const int parents_;
  // each task holds a reference
  const std::shared_ptr<int> held_ = std::make_shared<int>(0);
  std::atomic<size_t> thrown_{0};
  absl::Mutex mu_;
  std::vector<Task> tasks_;
};

TEST_P(SchedulerStressTest, EachTaskRunsOnceOrIsCancelled) {
  constexpr int kThreads = 4, kTasksOfEach = 5000;
  OneOffTasks tasks(scheduler_.get(), kThreads * kTasksOfEach);
  Threads threads;
  threads.Start(kThreads, [&](int t) {
    std::mt19937 random(t);
    for (int i = 0; i < kTasksOfEach; ++i) {
      tasks.Schedule(t * kTasksOfEach + i, ShortDelay(random));
      // One of the latest tasks, of any thread.
      const int other = static_cast<int>(random() % kThreads) * kTasksOfEach +
                        i - static_cast<int>(random() % (i < 64 ? i + 1 : 64));
      switch (random() % 8) {
        case 0:
        case 1:
          tasks.Cancel(other);
          break;
        case 2:
          tasks.CancelAndWait(other);
          break;
        case 3:
          std::this_thread::yield();
      }
    }
  });
  threads.Join();
  // A run that schedules another task counts until it has ended.
  while (scheduler_->Len() > 0) std::this_thread::yield();
  EXPECT_TRUE(scheduler_->ShutDownWithDrain());
  tasks.ExpectEachRanOnceOrWasCancelled();
}

// There are fewer tasks than workers, and each task schedules the next one. So
// workers wait and are woken all the time. If no worker is woken for a task,
// the round stops.
TEST_P(SchedulerStressTest, NoWakeUpIsLost) {
  constexpr int kHops = 5000;
  for (int tokens : {1, 3}) {
    std::atomic<int> hops{0};
    absl::Notification enough;
    const auto scheduler = NewScheduler(GetParam());
    struct Hop {
      Scheduler* scheduler;
      std::atomic<int>* hops;
      absl::Notification* enough;

      void operator()() const {
        const int hop = ++*hops;
        if (hop == kHops) enough->Notify();
        if (hop >= kHops) return;
        const absl::Duration delay = absl::Microseconds(hop * 7 % 60 - 10);
        const bool scheduled = scheduler->ScheduleOnce(*this, delay).ok();
        // Another task may have ended the round in the meantime.
        EXPECT_TRUE(scheduled || enough->HasBeenNotified());
      }
    };
    for (int i = 0; i < tokens; ++i) {
      Hop{scheduler.get(), &hops, &enough}();
    }
    enough.WaitForNotification();
  }
}

// -----------------------------------------------------------------------------
// Every so often
// -----------------------------------------------------------------------------

// A periodic task. Its runs access all members except those that it needs to
// cancel itself. So does a thread that knows that there are no runs. These
// members are not atomic, so that the sanitizers notice two runs at the same
// time and a run after the end.
class PeriodicTask {
 public:
  // The task cancels itself in run number `last_run`, unless it is cancelled
  // before.
  PeriodicTask(Scheduler* scheduler, absl::Duration period, bool fixed_rate,
               int last_run)
      : scheduler_(scheduler),
        period_(period),
        fixed_rate_(fixed_rate),
        last_run_(last_run),
        first_due_at_(Now() + period) {
    ScheduleEveryOptions options;
    options.fixed_rate = fixed_rate;
    const auto id = scheduler->ScheduleEvery([this, held = held_] { Run(); },
                                             period, options);
    EXPECT_TRUE(id.ok());
    id_ = *id;
    id_known_.Notify();
  }

  TaskId id() const { return id_; }

  bool cancelled_itself() const { return cancelled_itself_; }

  ~PeriodicTask() {
    EXPECT_FALSE(running_);
    EXPECT_EQ(held_.use_count(), 1);
  }

 private:
  void Run() {
    const absl::Time now = Now();
    EXPECT_FALSE(std::exchange(running_, true));
    EXPECT_GE(now, first_due_at_ + runs_ * period_);
    // The previous run began one period after the end of the run before it. The
    // exact time at which its function was called is not known.
    if (!fixed_rate_) {
      EXPECT_GE(now, ended_before_last_ + period_);
    }
    ++runs_;
    std::this_thread::yield();
    if (runs_ >= last_run_ && id_known_.HasBeenNotified()) {
      cancelled_itself_ |= scheduler_->CancelAndWait(id_);
    }
    running_ = false;
    ended_before_last_ = std::exchange(last_ended_, Now());
    if (runs_ % 3 == 0) MaybeThrow();
  }

  Scheduler* const scheduler_;
  const absl::Duration period_;
  const bool fixed_rate_;
  const int last_run_;
  const absl::Time first_due_at_;
  // the task holds a reference
  const std::shared_ptr<int> held_ = std::make_shared<int>(0);
  TaskId id_;
  absl::Notification id_known_;
  bool running_ = false;
  bool cancelled_itself_ = false;
  int runs_ = 0;
  absl::Time last_ended_ = absl::InfinitePast();
  absl::Time ended_before_last_ = absl::InfinitePast();
};

TEST_P(SchedulerStressTest, ATasksDataCanBeDestroyedAfterCancelAndWait) {
  constexpr int kThreads = 4, kTasksOfEach = 300;
  std::atomic<int> by_itself{0};
  Threads threads;
  threads.Start(kThreads, [&](int t) {
    std::mt19937 random(t);
    for (int i = 0; i < kTasksOfEach; ++i) {
      PeriodicTask task(
          scheduler_.get(),
          absl::Microseconds(1 + static_cast<int>(random() % 200)),
          /*fixed_rate=*/random() % 2 == 0,
          /*last_run=*/1 + static_cast<int>(random() % 10));
      RealClock()->Sleep(ShortDelay(random));
      const bool cancelled = scheduler_->CancelAndWait(task.id());
      EXPECT_NE(cancelled, task.cancelled_itself());
      if (!cancelled) ++by_itself;
    }
  });
  threads.Join();
  EXPECT_EQ(scheduler_->Len(), 0u);
  EXPECT_GT(by_itself, 0);
  EXPECT_LT(by_itself, kThreads * kTasksOfEach);
}

// -----------------------------------------------------------------------------
// The end
// -----------------------------------------------------------------------------

// The ways in which a scheduler ends.
enum End { kDrain, kDrainAndShutDown, kShutDownByATask, kDestructor, kEnds };

// Schedules and cancels tasks of all kinds until the scheduler ends.
void ScheduleAnything(Scheduler* scheduler, std::shared_ptr<int> held,
                      int seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const absl::Duration delay = ShortDelay(random);
    const auto schedules = [scheduler, held, delay] {
      (void)scheduler->ScheduleOnce([held] { MaybeThrow(); }, delay);
    };
    const auto id = random() % 2 == 0
                        ? scheduler->ScheduleOnce(schedules, delay)
                        : scheduler->ScheduleEvery(
                              [held] {}, delay + absl::Microseconds(50));
    if (!id.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(id.status()));
      EXPECT_TRUE(scheduler->ShuttingDown());
      return;
    }
    if (random() % 4 == 0) scheduler->Cancel(*id);
    if (random() % 4 == 0) scheduler->CancelAndWait(*id);
  }
}

// Several threads end the scheduler while it is in use. A drain runs all tasks
// that are due then.
TEST_P(SchedulerStressTest, ShutDownAtAnyTime) {
  constexpr int kRounds = 120;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto end = static_cast<End>(round % kEnds);
    const auto held = std::make_shared<int>(0);
    std::atomic<int> due_runs{0};
    std::atomic<bool> over{false};
    auto owned = NewScheduler(GetParam());
    Scheduler* const scheduler = owned.get();
    Threads threads;
    threads.Start(
        2, [&](int t) { ScheduleAnything(scheduler, held, 2 * round + t); });
    for (int i = 0; i < round; ++i) {
      const auto run = [&due_runs, &over, held] {
        EXPECT_FALSE(over);
        ++due_runs;
      };
      EXPECT_TRUE(scheduler->ScheduleOnce(run, absl::ZeroDuration()).ok());
    }
    if (end == kDrain || end == kDrainAndShutDown) {
      threads.Start(2, [&](int) {
        const bool drained = scheduler->ShutDownWithDrain();
        if (end == kDrain) {
          EXPECT_TRUE(drained) << "nothing else can end a drain";
        }
        if (drained) {
          EXPECT_EQ(due_runs, round);
          EXPECT_EQ(scheduler->Len(), 0u);
        }
      });
    }
    if (end == kDrainAndShutDown) {
      threads.Start(2, [&](int) { scheduler->ShutDown(); });
    }
    if (end == kShutDownByATask) {
      const auto shut_down = [scheduler, held] { scheduler->ShutDown(); };
      EXPECT_TRUE(
          scheduler->ScheduleEvery(shut_down, absl::Microseconds(100)).ok());
    }
    threads.Join();
    owned.reset();
    over = true;
    EXPECT_EQ(held.use_count(), 1);
  }
}

}  // namespace
}  // namespace workqueue::scheduler_stress_test
