// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/driven_loops.h"
#include "test/reference/subject.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace reference {
namespace scheduler_subject {
namespace {

using ::workqueue::Scheduler;
using ::workqueue::TaskId;
using ::workqueue::internal::MutexLock;

// For each run of a task: the task, the time, and whether it cancelled the task
// that it was meant to cancel.
using Runs = std::vector<std::tuple<int, absl::Time, bool>>;

// A simple model of what runs when.
class Model {
 public:
  struct Task {
    int task;
    absl::Duration period;  // zero if the task runs once
    bool fixed_rate = false;
    std::optional<int> cancels = {};  // the task that a run of this one cancels
    absl::Time due_at = {};
    absl::Time comes_at = {};
    int sequence = 0;
  };

  // `tick` is the tick of the wheel in which tasks wait, or zero if there is no
  // wheel. The wheel begins at `start`.
  Model(absl::Time start, absl::Duration tick)
      : start_(start), tick_(tick), now_(start) {}

  bool Schedule(Task task, absl::Duration delay) {
    if (shut_down_) return false;
    SetTime(task, now_ + std::max(delay, absl::ZeroDuration()));
    tasks_.push_back(task);
    return true;
  }

  bool Cancel(int task) {
    const auto it = Find(task);
    if (it == tasks_.end()) return false;
    tasks_.erase(it);
    return true;
  }

  // Handles a move of the time to `now`. Appends the runs that then take place
  // to `*runs`.
  void MoveTo(absl::Time now, Runs* runs) {
    now_ = now;
    while (true) {
      const auto first = std::min_element(
          tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
            return std::tie(a.comes_at, a.sequence) <
                   std::tie(b.comes_at, b.sequence);
          });
      if (first == tasks_.end() || first->comes_at > now_) return;
      const Task task = *first;
      tasks_.erase(first);
      RunOne(task, runs);
    }
  }

  bool HasDue() const {
    return std::any_of(tasks_.begin(), tasks_.end(), [this](const Task& task) {
      return task.comes_at <= now_;
    });
  }

  absl::Time Next() const {
    absl::Time next = absl::InfiniteFuture();
    for (const Task& task : tasks_) next = std::min(next, task.comes_at);
    return next;
  }

  void ShutDown() {
    shut_down_ = true;
    for (const Task& task : tasks_) dropped_due_ |= task.due_at <= now_;
    tasks_.clear();
  }

  // Tasks that are due run for the last time, even if their tick has not come.
  bool ShutDownWithDrain(Runs* runs) {
    shut_down_ = true;
    std::vector<Task> tasks = std::exchange(tasks_, {});
    for (const Task& task : tasks) {
      if (task.due_at <= now_) runs->emplace_back(task.task, now_, false);
    }
    return !dropped_due_;
  }

  bool ShuttingDown() const { return shut_down_; }
  size_t Len() const { return tasks_.size(); }

 private:
  std::vector<Task>::iterator Find(int task) {
    return std::find_if(tasks_.begin(), tasks_.end(),
                        [task](const Task& t) { return t.task == task; });
  }

  void SetTime(Task& task, absl::Time due_at) {
    task.due_at = due_at;
    task.comes_at = due_at;
    task.sequence = next_++;
    if (tick_ > absl::ZeroDuration() && due_at > now_) {
      task.comes_at = start_ + absl::Ceil(due_at - start_, tick_);
    }
  }

  void RunOne(Task task, Runs* runs) {
    bool ends = task.period == absl::ZeroDuration();
    bool cancelled = false;
    if (task.cancels == task.task) {
      cancelled = !ends;
      ends = true;
    } else if (task.cancels.has_value()) {
      cancelled = Cancel(*task.cancels);
    }
    runs->emplace_back(task.task, now_, cancelled);
    if (ends) return;
    SetTime(task, (task.fixed_rate ? task.due_at : now_) + task.period);
    tasks_.push_back(task);
  }

  const absl::Time start_;
  const absl::Duration tick_;
  absl::Time now_;
  std::vector<Task> tasks_;
  int next_ = 0;
  bool shut_down_ = false;
  bool dropped_due_ = false;
};

// A scheduler with tasks numbered from zero, and its model.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    choices_.Next();
    const bool is_wheel = choices_.OneIn(2);
    // The thread of a loop is the only worker.
    const int choice = 1 + choices_.Below(3);
    const int workers = DrivenLoops::on() ? 1 : choice;
    const absl::Duration tick =
        is_wheel ? absl::Seconds(1) : absl::ZeroDuration();
    workqueue::SchedulerOptions options;
    options.clock = ClockOrLoop(&clock_);
    if (!DrivenLoops::on()) options.workers = workers;
    if (is_wheel) {
      options.waiting_set =
          *workqueue::WaitingSetOptions::TimingWheel(tick, /*slots=*/8);
    }
    in_order_ = !is_wheel && workers == 1;
    comparison_.Did("Scheduler", is_wheel ? "with a wheel" : "with a heap",
                    workers);
    model_ = std::make_unique<Model>(clock_.TimeNow(), tick);
    scheduler_ = *Scheduler::Create(options);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      // A task that is due at once may or may not have run by now.
      if (model_->HasDue()) continue;
      comparison_.Same("Len()", scheduler_->Len(), model_->Len());
    }
    if (comparison_.agrees()) ShutDown(/*drain=*/true);
    return comparison_.disagreement();
  }

 private:
  void DoOne() {
    const int choice = choices_.Below(100);
    // More tasks would only take longer.
    constexpr size_t kMostTasks = 10;
    if (choice < 50 && model_->Len() == kMostTasks) return;
    if (choice < 28) {
      const absl::Duration delay = Delay();
      Schedule({NextTask(), absl::ZeroDuration(), /*fixed_rate=*/false,
                Victim(choices_.OneIn(4))},
               delay);
    } else if (choice < 50) {
      const absl::Duration delay = Delay();
      const int how = choices_.Below(256);
      Schedule({NextTask(), absl::Milliseconds(250) * (1 + how / 4),
                /*fixed_rate=*/how % 2 == 1, Victim(how / 2 % 2 == 1)},
               delay);
    } else if (choice < 74) {
      Cancel(/*wait=*/choices_.OneIn(4));
    } else if (choice < 91) {
      Step(absl::Milliseconds(250) * choices_.Below(80));
    } else if (choice < 93) {
      Step(-absl::Milliseconds(250) * choices_.Below(80));
    } else if (choice < 99) {
      const absl::Time next =
          model_->Next() - absl::Nanoseconds(choices_.Below(2));
      if (next > clock_.TimeNow() && next < absl::InfiniteFuture()) {
        Step(next - clock_.TimeNow());
      }
    } else if (choices_.OneIn(16)) {
      ShutDown(/*drain=*/choices_.OneIn(2));
    }
  }

  absl::Duration Delay() {
    const int n = choices_.Below(256);
    if (n == 255) return absl::InfiniteDuration();
    return absl::Milliseconds(250) * (n < 240 ? n * 5 / 6 : 240 - n);
  }

  int NextTask() const {
    MutexLock lock(&mu_);
    return static_cast<int>(ids_.size());
  }

  // Returns one of the latest tasks, or the next one.
  int AnyTask() {
    const int next = NextTask();
    return next - choices_.Below(std::min(next, 199) + 1);
  }

  // Returns the task that another task cancels when it runs, or nothing. The
  // outcome is known only if the order of the runs is known.
  std::optional<int> Victim(bool any) {
    if (!in_order_ || !any) return std::nullopt;
    return AnyTask();
  }

  void Schedule(const Model::Task& task, absl::Duration delay) {
    const auto run = [this, task] {
      TaskId victim;
      {
        MutexLock lock(&mu_);
        if (task.cancels.has_value()) victim = ids_[*task.cancels];
      }
      const bool cancelled =
          task.cancels.has_value() && scheduler_->Cancel(victim);
      MutexLock lock(&mu_);
      runs_.emplace_back(task.task, clock_.TimeNow(), cancelled);
    };
    absl::StatusOr<TaskId> id;
    {
      MutexLock lock(&mu_);  // The run can see its id only after this.
      if (task.period == absl::ZeroDuration()) {
        id = scheduler_->ScheduleOnce(run, delay);
      } else {
        workqueue::ScheduleEveryOptions options;
        options.initial_delay = delay;
        options.fixed_rate = task.fixed_rate;
        id = scheduler_->ScheduleEvery(run, task.period, options);
      }
      ids_.push_back(id.value_or(TaskId()));
    }
    comparison_.Returned(
        id.ok(), model_->Schedule(task, delay),
        task.period == absl::ZeroDuration() ? "ScheduleOnce" : "ScheduleEvery",
        task.task, delay, task.period,
        task.fixed_rate ? "fixed rate" : "fixed delay", "cancels",
        task.cancels);
  }

  void Cancel(bool wait) {
    Settle();
    const int task = AnyTask();
    TaskId id;
    {
      MutexLock lock(&mu_);
      if (task < static_cast<int>(ids_.size())) id = ids_[task];
    }
    comparison_.Returned(
        wait ? scheduler_->CancelAndWait(id) : scheduler_->Cancel(id),
        model_->Cancel(task), wait ? "CancelAndWait" : "Cancel", task);
  }

  // Waits until tasks that are due at once have run.
  void Settle() {
    if (model_->HasDue()) Step(absl::ZeroDuration());
  }

  void Step(absl::Duration d) {
    Runs expected;
    model_->MoveTo(clock_.TimeNow(), &expected);  // tasks that are due at once
    clock_.Step(d);
    model_->MoveTo(clock_.TimeNow(), &expected);
    CompareRuns(std::move(expected), "Step", d);
  }

  void ShutDown(bool drain) {
    Settle();
    if (drain) {
      Runs expected;
      const bool drained = model_->ShutDownWithDrain(&expected);
      comparison_.Same("what ShutDownWithDrain() returned",
                       scheduler_->ShutDownWithDrain(), drained);
      CompareRuns(std::move(expected), "ShutDownWithDrain");
    } else {
      scheduler_->ShutDown();
      model_->ShutDown();
      comparison_.Did("ShutDown");
    }
    comparison_.Same("ShuttingDown()", scheduler_->ShuttingDown(), true);
  }

  // Compares the runs since the last call.
  template <typename... Args>
  void CompareRuns(Runs expected, const char* name, const Args&... args) {
    MutexLock lock(&mu_);
    Runs got = std::exchange(runs_, Runs());
    if (!in_order_) {
      std::sort(got.begin(), got.end());
      std::sort(expected.begin(), expected.end());
    }
    comparison_.Returned(got, expected, name, args...);
  }

  Choices choices_;
  Comparison comparison_;
  workqueue::FakeClock clock_;
  bool in_order_;  // whether the order in which tasks run is known
  std::unique_ptr<Model> model_;

  mutable absl::Mutex mu_;
  std::vector<TaskId> ids_ ABSL_GUARDED_BY(mu_);  // the id of each task
  Runs runs_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace
}  // namespace scheduler_subject

Subject SchedulerSubject() {
  return {"scheduler", [](Choices choices, std::string* log) {
            return scheduler_subject::Run(choices, log).Disagreement();
          }};
}

}  // namespace reference
