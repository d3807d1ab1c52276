// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/scheduler_life.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/crew.h"
#include "test/stress/lull.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {
namespace {

using internal::MutexLock;
using Event = SoakCounts::Event;

struct Task {
  bool periodic = false;
  absl::Time not_before;
  std::atomic<int64_t> runs{0};
  std::atomic<bool> running{false};
  std::atomic<bool> over{false};  // no run may begin any more

  absl::Mutex mu;  // never held by a run
  TaskId id ABSL_GUARDED_BY(mu);
  absl::Time due_by ABSL_GUARDED_BY(mu);
  bool cancelled ABSL_GUARDED_BY(mu) = false;
};

// The ways in which a life ends.
enum class SchedulerEnd {
  kShutDown,
  kDrain,
  kSeveral,
  kWhenAllHaveRun,
  kDestructor
};
constexpr int kEnds = 5;

class SchedulerLife {
 public:
  SchedulerLife(const WaitingSetOptions& waiting_set, const SoakLife& life)
      : tick_(waiting_set.tick()), life_(life), random_(life.seed) {
    SchedulerOptions options;
    options.waiting_set = waiting_set;
    options.workers = 1 + UpTo(3);
    scheduler_ = *Scheduler::Create(std::move(options));
  }

  void Live();

 private:
  static constexpr int kSchedulers = 3;

  // The next functions run until they are told to stop.
  void Schedule(Crew::Member& self, int number);
  void CancelRecent(Crew::Member& self, uint32_t seed);

  void ScheduleTask(Task* task, bool periodic, std::mt19937& random);
  void Cancel(Task* task, bool and_wait);
  void Run(Task* task);

  // Begins a lull. Returns once all one-off tasks have run or been cancelled.
  void Settle(Crew::Member& self);

  void BeginTheEnd(Crew& crew, SchedulerEnd end);
  void Drain(Crew::Member& self, bool must_succeed);

  // Returns the number of tasks that were dropped before they ran. If only
  // drains ended the scheduler, expects that none of these tasks was due when
  // the first drain began.
  int ExpectHaveRun(bool drains_alone, absl::Time ended_at);

  int UpTo(int max) { return static_cast<int>(random_() % (max + 1)); }

  const absl::Duration tick_;
  const SoakLife& life_;
  std::mt19937 random_;
  std::array<std::deque<Task>, kSchedulers> tasks_;
  // Some of the tasks scheduled last.
  std::array<std::atomic<Task*>, 64> recent_{};
  std::atomic<int64_t> left_{0};  // of the one-off tasks
  Lull lull_;                     // for the threads that schedule and cancel
  std::atomic<bool> stop_{false};
  std::atomic<bool> closed_{false};  // no run may begin any more
  std::unique_ptr<Scheduler> scheduler_;
};

void SchedulerLife::Run(Task* task) {
  EXPECT_FALSE(closed_) << "a run after the end";
  EXPECT_FALSE(task->over) << "a run after CancelAndWait()";
  EXPECT_FALSE(task->running.exchange(true)) << "two runs at once";
  EXPECT_GE(RealClock()->TimeNow(), task->not_before);
  if (++task->runs > 1) {
    EXPECT_TRUE(task->periodic) << "run twice";
  }
  if (!task->periodic) --left_;
  life_.Count(Event::kHandOuts);
  std::mt19937 random(static_cast<uint32_t>(task->runs));
  life_.Dawdle(random);
  task->running = false;
}

void SchedulerLife::ScheduleTask(Task* task, bool periodic,
                                 std::mt19937& random) {
  const absl::Duration delay = ShortDelay(random);
  const absl::Duration period =
      absl::Microseconds(100 + static_cast<int>(random() % 900));
  ScheduleEveryOptions options;
  options.initial_delay = delay;
  options.fixed_rate = random() % 2 == 0;
  const auto run = [this, task] { Run(task); };
  const bool ended = scheduler_->ShuttingDown();
  task->periodic = periodic;
  task->not_before = RealClock()->TimeNow() + delay;

  if (!periodic) ++left_;

  MutexLock lock(&task->mu);
  const absl::StatusOr<TaskId> id =
      periodic ? scheduler_->ScheduleEvery(run, period, options)
               : scheduler_->ScheduleOnce(run, delay);
  task->due_by = RealClock()->TimeNow() + delay;
  if (id.ok()) {
    EXPECT_FALSE(ended) << "scheduled after the end";
    task->id = *id;
    life_.Count(delay > absl::ZeroDuration() ? Event::kDelayedAdds
                                             : Event::kAdds);
  } else {
    EXPECT_TRUE(scheduler_->ShuttingDown());
    task->cancelled = true;
    if (!periodic) --left_;
  }
}

void SchedulerLife::Schedule(Crew::Member& self, int number) {
  std::mt19937 random(life_.seed + number);
  Task* periodic = nullptr;
  while (!stop_) {
    // Only one periodic task exists at a time. Otherwise they would pile up.
    const bool is_periodic = random() % 64 == 0;
    if (is_periodic && periodic != nullptr) {
      self.Doing("CancelAndWait");
      Cancel(periodic, /*and_wait=*/true);
    }
    self.Doing("Schedule");
    lull_.DoUnlessOn([&] {
      Task* const task = &tasks_[number].emplace_back();
      if (is_periodic) periodic = task;
      ScheduleTask(task, is_periodic, random);
      recent_[random() % recent_.size()] = task;
    });
    life_.Dawdle(random);
  }
  self.Doing("CancelAndWait");
  if (periodic != nullptr) Cancel(periodic, /*and_wait=*/true);
}

void SchedulerLife::Cancel(Task* task, bool and_wait) {
  MutexLock lock(&task->mu);
  const bool would_have_run = and_wait ? scheduler_->CancelAndWait(task->id)
                                       : scheduler_->Cancel(task->id);
  if (would_have_run) {
    EXPECT_FALSE(std::exchange(task->cancelled, true)) << "cancelled twice";
    if (!task->periodic) --left_;
    life_.Count(Event::kCancels);
  }
  if (and_wait) {
    EXPECT_FALSE(task->running);
    task->over = true;
  }
}

void SchedulerLife::CancelRecent(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  while (!stop_) {
    Task* const task = recent_[random() % recent_.size()];
    if (task == nullptr) continue;
    self.Doing("Cancel");
    lull_.DoUnlessOn([&] { Cancel(task, /*and_wait=*/random() % 2 == 0); });
    life_.Dawdle(random);
  }
}

void SchedulerLife::Settle(Crew::Member& self) {
  self.Doing("waiting for all to run");
  lull_.Begin();
  while (left_ > 0) Lull::Nap();
}

void SchedulerLife::Drain(Crew::Member& self, bool must_succeed) {
  self.Doing("ShutDownWithDrain");
  if (scheduler_->ShutDownWithDrain()) {
    closed_ = true;
    life_.Count(Event::kDrains);
  } else {
    EXPECT_FALSE(must_succeed) << "nothing else ends a drain";
  }
}

void SchedulerLife::BeginTheEnd(Crew& crew, SchedulerEnd end) {
  const auto shut_down = [this](Crew::Member& self, int) {
    self.Doing("ShutDown");
    scheduler_->ShutDown();
  };
  switch (end) {
    case SchedulerEnd::kShutDown:
      crew.Start("ender", 1 + UpTo(1), shut_down);
      break;
    case SchedulerEnd::kDrain:
    case SchedulerEnd::kWhenAllHaveRun:
      crew.Start("ender", 1 + UpTo(1), [this](Crew::Member& self, int) {
        Drain(self, /*must_succeed=*/true);
      });
      break;
    case SchedulerEnd::kSeveral:
      crew.Start("ender", 2, [this](Crew::Member& self, int) {
        Drain(self, /*must_succeed=*/false);
      });
      crew.Start("ender", 1, shut_down);
      break;
    case SchedulerEnd::kDestructor:
      crew.captain().Doing("destroying the scheduler");
      scheduler_.reset();
      closed_ = true;
      break;
  }
}

int SchedulerLife::ExpectHaveRun(bool drains_alone, absl::Time ended_at) {
  int dropped = 0;
  for (std::deque<Task>& tasks : tasks_) {
    for (Task& task : tasks) {
      EXPECT_FALSE(task.running);
      MutexLock lock(&task.mu);
      if (!task.periodic) {
        EXPECT_FALSE(task.runs > 0 && task.cancelled);
      }
      if (task.runs > 0 || task.cancelled) continue;
      if (drains_alone) {
        EXPECT_GE(task.due_by + tick_, ended_at) << "a due task was lost";
      }
      ++dropped;
    }
  }
  return dropped;
}

void SchedulerLife::Live() {
  Crew crew(life_.name);
  crew.AbortUnlessGoneBy(life_.Deadline());
  crew.Start("owner", 1 + UpTo(kSchedulers - 1),
             [this](Crew::Member& self, int i) { Schedule(self, i); });
  crew.Start("canceller", UpTo(2), [this](Crew::Member& self, int i) {
    CancelRecent(self, life_.seed + 100 + i);
  });
  for (const absl::Time end = RealClock()->TimeNow() + life_.length;
       RealClock()->TimeNow() < end;) {
    Settle(crew.captain());
    lull_.End();
    crew.captain().Doing("watching");
    RealClock()->Sleep(absl::Milliseconds(UpTo(20)));
  }

  const auto end = static_cast<SchedulerEnd>(random_() % kEnds);
  if (end == SchedulerEnd::kWhenAllHaveRun) Settle(crew.captain());
  if (end == SchedulerEnd::kDestructor) {
    stop_ = true;
    crew.Join();
  }
  const absl::Time ended_at = RealClock()->TimeNow();
  BeginTheEnd(crew, end);
  crew.captain().Doing("watching");
  RealClock()->Sleep(absl::Milliseconds(UpTo(2)));
  stop_ = true;
  crew.Join();
  crew.captain().Doing("destroying the scheduler");
  scheduler_.reset();

  const int dropped = ExpectHaveRun(
      end == SchedulerEnd::kDrain || end == SchedulerEnd::kWhenAllHaveRun,
      ended_at);
  life_.Count(Event::kDropped, dropped);
}

}  // namespace

void LiveAsScheduler(const WaitingSetOptions& waiting_set,
                     const SoakLife& life) {
  SchedulerLife(waiting_set, life).Live();
}

}  // namespace workqueue
