// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using internal::MutexLock;

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(
    SchedulerOptions options) {
  const size_t workers = options.workers;
  if (workers == 0) {
    return absl::InvalidArgumentError("workers is 0; it must be at least 1");
  }
  const bool on_loop = options.clock.loop() != nullptr;
  if (on_loop && workers != SchedulerOptions().workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "workers is ", workers,
        ", and clock is a loop; the thread of the loop runs the tasks"));
  }
  std::unique_ptr<Scheduler> scheduler;
  const bool made = internal::TryCall(
      [&] { scheduler = absl::WrapUnique(new Scheduler(std::move(options))); });
  if (!made) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there is no memory for ", workers, " workers"));
  }
  if (on_loop) return scheduler;
  absl::Status started = scheduler->pool_.Start(
      workers, [s = scheduler.get()](size_t i) { s->Work(s->workers_[i]); });
  if (!started.ok()) return started;
  return scheduler;
}

Scheduler::Scheduler(SchedulerOptions options)
    : name_(options.name),
      loop_(options.clock.loop()),
      clock_(options.clock.clock()),
      on_exception_(std::move(options.on_exception)),
      errors_("scheduler", options.name, options.log_sink, clock_),
      waiting_(options.waiting_set, clock_),
      workers_(loop_ != nullptr ? 1 : options.workers) {
  for (Worker& worker : workers_) {
    if (loop_ != nullptr) {
      worker.parker = std::make_unique<internal::LoopParker>(
          loop_.get(), static_cast<WaitingLoop::Client*>(this));
    } else {
      worker.parker = clock_->NewParker(Parker::Role::kLoop);
    }
    worker.waiter.parker = worker.parker.get();
  }
  if (loop_ != nullptr) loop_->Add(this);
}

Scheduler::~Scheduler() {
  ShutDown();
  if (loop_ != nullptr) loop_->Remove(this);
  pool_.Join();
}

absl::StatusOr<TaskId> Scheduler::ScheduleOnce(Function function,
                                               absl::Duration delay) {
  return Schedule(std::move(function), delay, absl::ZeroDuration(),
                  /*fixed_rate=*/false);
}

absl::StatusOr<TaskId> Scheduler::ScheduleEvery(
    Function function, absl::Duration period,
    const ScheduleEveryOptions& options) {
  absl::Status status = internal::CheckFiniteAndPositive("period", period);
  if (!status.ok()) return status;
  return Schedule(std::move(function), options.initial_delay.value_or(period),
                  period, options.fixed_rate);
}

absl::StatusOr<TaskId> Scheduler::Schedule(Function&& function,
                                           absl::Duration delay,
                                           absl::Duration period,
                                           bool fixed_rate) {
  if (!function) {
    return absl::InvalidArgumentError("function is empty; it must be callable");
  }
  const absl::Time now = clock_->TimeNow();
  // With a fixed rate, an infinitely negative delay would be made up for.
  const absl::Time due_at = now + std::max(delay, absl::ZeroDuration());
  MutexLock lock(&mu_);
  if (shutting_down_) {
    return absl::FailedPreconditionError("the scheduler has been shut down");
  }
  // The rings of a wheel stay: they also reach from each run to the next.
  waiting_.Reserve(tasks_.NextSlot(), now + period);
  waiting_.Reserve(tasks_.NextSlot(), due_at);
  Task* const task = tasks_.New(std::move(function));
  task->period = period;
  task->fixed_rate = fixed_rate;
  task->due_at = due_at;
  waiters_.WakeBy(waiting_.Insert(task->slot(), due_at, now));
  return TaskTable::HandleOf(task);
}

bool Scheduler::Cancel(TaskId id) {
  MutexLock lock(&mu_);
  Task* const task = tasks_.Find(id);
  return task != nullptr && CancelTask(task);
}

bool Scheduler::CancelAndWait(TaskId id) {
  Function withdrawn;  // destroyed without the lock
  MutexLock lock(&mu_);
  Task* const task = tasks_.Find(id);
  if (task == nullptr) return false;
  const bool used_here = task->user == std::this_thread::get_id();
  const bool would_have_run = CancelTask(task);
  const auto gone = [this, id]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return tasks_.Find(id) == nullptr;
  };
  if (!used_here) {
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&gone),
                              absl::InfiniteFuture());
  }
  // A call further up this thread's stack would destroy it later.
  if (used_here && task->withdrawn) {
    withdrawn = std::exchange(task->function, nullptr);
  }
  return would_have_run;
}

bool Scheduler::CancelTask(Task* task) {
  if (task->in_use()) {
    return std::exchange(task->period, absl::ZeroDuration()) !=
           absl::ZeroDuration();
  }
  Withdraw(task);
  Destroy(task);
  return true;
}

void Scheduler::Withdraw(Task* task) {
  waiting_.Remove(task->slot());
  task->withdrawn = true;
  task->user = std::this_thread::get_id();
  task->period = absl::ZeroDuration();
}

void Scheduler::Destroy(Task* first_withdrawn) {
  Task* task = first_withdrawn;
  {
    const internal::MutexUnlock unlock(&mu_);
    // Moved out first: its destructor may cancel its task, and the others.
    for (; task != nullptr; task = task->next_withdrawn) {
      const Function done = std::exchange(task->function, nullptr);
    }
  }
  task = first_withdrawn;
  while (task != nullptr) Remove(std::exchange(task, task->next_withdrawn));
}

void Scheduler::Remove(Task* task) {
  tasks_.Delete(task);
  const bool compacted = tasks_.CompactIfDue(
      [this](Task* from, Task* to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        waiting_.Renumber(from->slot(), to->slot());
        tasks_.Delete(from);
      },
      // A thread that uses a task has its address.
      [](const Task& it) { return !it.in_use(); });
  if (compacted) waiting_.Shrink(tasks_.slot_limit());
}

size_t Scheduler::Len() const {
  MutexLock lock(&mu_);
  return waiting_.size();
}

size_t Scheduler::FailedRuns() const {
  MutexLock lock(&mu_);
  return failed_runs_;
}

SchedulerSnapshot Scheduler::TakeSnapshotUpTo(size_t max) const {
  SchedulerSnapshot snapshot;
  MutexLock lock(&mu_);
  snapshot.taken_at = clock_->TimeNow();
  snapshot.shutting_down = shutting_down_;
  snapshot.failed_runs = failed_runs_;
  for (const Worker& worker : workers_) {
    if (worker.task == nullptr) continue;
    snapshot.running.push_back({TaskTable::HandleOf(worker.task),
                                worker.began_at, worker.task->period});
  }
  std::sort(snapshot.running.begin(), snapshot.running.end(),
            [](const auto& a, const auto& b) { return a.since < b.since; });
  snapshot.num_waiting = waiting_.size() - snapshot.running.size();
  for (const Task* task : FirstDue(std::min(max, snapshot.num_waiting))) {
    snapshot.waiting.push_back(
        {TaskTable::HandleOf(task), task->due_at, task->period});
  }
  return snapshot;
}

std::vector<const Scheduler::Task*> Scheduler::FirstDue(size_t count) const {
  std::vector<const Task*> tasks;
  if (count == 0) return tasks;
  const bool in_order = waiting_.VisitInOrder(
      [&, this](internal::SlabId slot) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        if (!tasks_.At(slot)->in_use()) tasks.push_back(tasks_.At(slot));
        return tasks.size() < count;
      });
  if (in_order) return tasks;
  tasks_.ForEach([&tasks](const Task* task) {
    if (!task->in_use()) tasks.push_back(task);
  });
  std::partial_sort(
      tasks.begin(), tasks.begin() + count, tasks.end(),
      [](const Task* a, const Task* b) { return a->due_at < b->due_at; });
  tasks.resize(count);
  return tasks;
}

void Scheduler::ShutDown() { StopScheduling(/*drop_due=*/true); }

bool Scheduler::ShutDownWithDrainWithin(absl::Duration timeout) {
  if (StopScheduling(/*drop_due=*/false)) return false;
  if (loop_ != nullptr && loop_->IsRunHere()) return false;
  const auto ended = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return tasks_.size() == 0;
  };
  MutexLock lock(&mu_);
  return clock_->AwaitWithDeadline(&mu_, absl::Condition(&ended),
                                   clock_->TimeNow() + timeout) &&
         !dropped_due_;
}

bool Scheduler::StopScheduling(bool drop_due) {
  Task* withdrawn = nullptr;
  bool called_by_task = false;
  MutexLock lock(&mu_);
  // With the lock held: a task that one drain keeps is due for a later drain.
  const absl::Time now = std::max(clock_->TimeNow(), stopped_at_);
  shutting_down_ = true;
  stopped_at_ = now;
  tasks_.ForEach([&, this](Task* task) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    task->period = absl::ZeroDuration();
    if (task->in_use()) {
      called_by_task |= task->user == std::this_thread::get_id();
      return;
    }
    const bool due = task->due_at <= now;
    if (drop_due || !due) {
      dropped_due_ |= due;
      Withdraw(task);
      task->next_withdrawn = std::exchange(withdrawn, task);
    } else if (waiting_.DueAt(task->slot()) > now) {
      // The task is due between two ticks of a wheel; do not wait for a tick.
      waiting_.Move(task->slot(), task->due_at, now);
    }
  });
  waiters_.WakeAll();
  Destroy(withdrawn);
  return called_by_task;
}

bool Scheduler::ShuttingDown() const {
  MutexLock lock(&mu_);
  return shutting_down_;
}

void Scheduler::Work(Worker& worker) {
  internal::NameThisThread(name_, "sched");
  absl::Time wake_at = absl::InfinitePast();
  do {
    if (worker.task == nullptr) {
      worker.parker->ParkUntil(wake_at);
    } else {
      Call(worker.task);
    }
  } while (NextTask(worker, /*begin=*/true, &wake_at));
  worker.parker.reset();
}

absl::Time Scheduler::Run(absl::Time now) {
  Worker& worker = workers_[0];
  for (int runs = 0; runs < kMostAtOnce; ++runs) {
    absl::Time wake_at = absl::InfiniteFuture();
    if (!NextTask(worker, /*begin=*/true, &wake_at) || worker.task == nullptr) {
      return wake_at;
    }
    Call(worker.task);
    NextTask(worker, /*begin=*/false, &wake_at);
  }
  return now;
}

bool Scheduler::NextTask(Worker& worker, bool begin, absl::Time* wake_at) {
  Function done;  // destroyed without the lock
  MutexLock lock(&mu_);
  Task* const ended = worker.task;
  if (ended != nullptr && ended->period == absl::ZeroDuration() &&
      ended->function) {
    done = std::exchange(ended->function, nullptr);
    // A call that waits for the end of the run waits for this, too.
    internal::MutexUnlock unlock(&mu_);
    done = nullptr;
  }
  const absl::Time now = clock_->TimeNow();
  waiters_.EndWait(&worker.waiter);
  if (ended != nullptr) EndRun(ended, now);
  worker.task = begin ? BeginRun(std::max(now, stopped_at_)) : nullptr;
  worker.began_at = now;
  if (!begin) return true;
  if (worker.task == nullptr && shutting_down_) return false;
  const absl::Time next = waiting_.NextWake();
  if (worker.task == nullptr) {
    *wake_at = waiters_.BeginWait(&worker.waiter, next,
                                  /*deadline=*/absl::InfiniteFuture());
  }
  waiters_.WakeBy(next);
  return true;
}

Scheduler::Task* Scheduler::BeginRun(absl::Time now) {
  const internal::SlabId place = waiting_.Due(now);
  if (place == internal::kNoSlabId) return nullptr;
  Task* const task = tasks_.At(place);
  task->user = std::this_thread::get_id();
  if (!task->fixed_rate) task->due_at = now;
  waiting_.Move(task->slot(), absl::InfiniteFuture(), now);
  return task;
}

void Scheduler::Call(Task* task) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    task->function();
  } catch (...) {
    {
      MutexLock lock(&mu_);
      ++failed_runs_;
    }
    errors_.Write([] {
      const absl::Status thrown = internal::CatchAsStatus([] { throw; });
      return absl::StrCat(
          "a run threw: ",
          internal::Printable(thrown.message(), internal::kPrintedErrorBytes));
    });
    if (on_exception_ == nullptr) return;
    internal::TryCall([&] {
      on_exception_(TaskTable::HandleOf(task), std::current_exception());
    });
  }
#else
  task->function();
#endif
}

void Scheduler::EndRun(Task* task, absl::Time now) {
  if (task->function) {
    task->user = std::thread::id();
    task->due_at += task->period;
    waiting_.Move(task->slot(), task->due_at, now);
  } else {
    waiting_.Remove(task->slot());
    Remove(task);
  }
}

}  // namespace workqueue
