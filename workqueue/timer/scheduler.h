// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/timer/scheduler.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TIMER_SCHEDULER_H_
#define WORKQUEUE_TIMER_SCHEDULER_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/log.h"
#include "workqueue/internal/worker_pool.h"
#include "workqueue/log_sink.h"
#include "workqueue/timer/internal/leader_followers.h"
#include "workqueue/timer/internal/slot_map.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// TaskId
//
// Names a task of a `Scheduler`, to be cancelled. It can be kept for as long as
// you like: once the task is gone it names nothing, never another task.
// Copyable, comparable and hashable; a default constructed one names nothing.
using TaskId = internal::Handle<struct TaskIdTag>;

// SchedulerOptions
//
// How a scheduler is made. All have a default that does.
struct SchedulerOptions {
  // For messages.
  std::string name;

  // The clock that it goes by; null for the real one. Not owned, must outlive
  // the scheduler.
  Clock* clock = nullptr;

  // How many threads run tasks. At least 1.
  size_t workers = 4;

  // What keeps the tasks until they are due.
  WaitingSetOptions waiting_set;

  // Called with what a run of a task threw, on the thread that ran it. May call
  // the scheduler, and should not throw itself. By default runs that throw are
  // only counted and logged.
  std::function<void(TaskId, std::exception_ptr)> on_exception;

  // Where messages go, an error for each run that throws; null for nowhere. Not
  // owned, must outlive the scheduler.
  LogSink* log_sink = nullptr;
};

// ScheduleEveryOptions
//
// When a periodic task runs.
struct ScheduleEveryOptions {
  // How long from now the first run is due; zero if negative. The period, by
  // default.
  std::optional<absl::Duration> initial_delay;

  // False: a run is due a period after a worker began the one before.
  //
  // True: runs are due a period apart, on the clock, whenever those before
  // began. Those that could not begin in time are made up for, one after the
  // other.
  bool fixed_rate = false;
};

// Scheduler
//
// Runs functions later, once or every so often, on a fixed number of threads.
//
// Example:
//
//     absl::StatusOr<std::unique_ptr<workqueue::Scheduler>> scheduler =
//         workqueue::Scheduler::Create();
//     if (!scheduler.ok()) return scheduler.status();
//     auto beat = (*scheduler)->ScheduleEvery([&] { SendHeartbeat(); },
//                                             absl::Seconds(10));
//     auto timeout = (*scheduler)->ScheduleOnce([&] { GiveUp(); },
//                                               absl::Minutes(1));
//     ...
//     (*scheduler)->Cancel(*timeout);
//
// A run never begins before it is due, on the clock in the options, and begins
// then if a thread is free; otherwise as soon as one is, those that are due
// first before others. A task's runs never overlap: one that is due while the
// run before goes on begins when that has ended. (With a timing wheel, a run is
// late by up to a tick.)
//
// There is no timer thread: one of the idle workers sleeps until the first task
// is due. So a task that takes long delays others only if all workers are busy.
//
// Scheduling and cancelling take O(log n) for n tasks, or constant time with a
// timing wheel. What a task holds is destroyed when it has run for the last
// time, or is cancelled, and not only when it would have been due.
//
// A run that throws ends there; it is counted, logged and goes to
// `SchedulerOptions::on_exception`, and a periodic task goes on.
//
// On a `workqueue::FakeClock`, `Step()` returns when all runs that were due
// have ended, except for those that wait for a later time on that clock.
//
// Thread-safe; tasks may call all of it, but not destroy the scheduler.
class Scheduler {
 public:
  using Function = absl::AnyInvocable<void()>;

  // Starts the threads. Returns `absl::InvalidArgumentError` if `workers` is
  // zero, and `absl::ResourceExhaustedError` if not all of them could be
  // started.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      SchedulerOptions options = {});

  // Shuts down, and blocks until all runs have ended. (Meanwhile a
  // `std::unique_ptr` that is being reset is null. Where tasks use the
  // scheduler by way of one, call `ShutDownWithDrain()` first.)
  ~Scheduler();

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Has `function` run once, when `delay` has passed; as soon as possible if it
  // is zero or negative.
  //
  // Returns `absl::InvalidArgumentError` if `function` is empty, and
  // `absl::FailedPreconditionError` if the scheduler has been shut down.
  absl::StatusOr<TaskId> ScheduleOnce(Function function, absl::Duration delay);

  // Has `function` run again and again, until it is cancelled; `options` say
  // when.
  //
  // Returns `absl::InvalidArgumentError` if `function` is empty or `period` is
  // not positive or infinite, and `absl::FailedPreconditionError` if the
  // scheduler has been shut down.
  absl::StatusOr<TaskId> ScheduleEvery(
      Function function, absl::Duration period,
      const ScheduleEveryOptions& options = {});

  // Sees that no run of the task that `id` names begins any more. One that is
  // in progress goes on, and the task is destroyed when that has ended; a task
  // may cancel itself. Otherwise it is destroyed now.
  //
  // Returns true if there would have been another run.
  bool Cancel(TaskId id);

  // As `Cancel()`; and if a run is in progress, blocks until it has ended and
  // the task is destroyed, unless called from that run itself. So what the task
  // uses can be destroyed then.
  bool CancelAndWait(TaskId id);

  // Returns how many tasks there are, those that run included. By the time that
  // the caller looks at the result it may have changed.
  size_t Len() const;

  // Returns how many runs have thrown.
  size_t FailedRuns() const;

  // From now on nothing is scheduled and no run begins; all tasks are destroyed
  // but those that run, which are when that has ended. Does not block. May be
  // called from any thread and more than once.
  void ShutDown();

  // As `ShutDown()`, but those that are due by now still run, once; blocks
  // until all runs have ended, or until `deadline`. Returns whether they have,
  // and none that was due was dropped.
  //
  // A task that calls this does not wait, not even for others: returns false.
  bool ShutDownWithDrainUntil(absl::Time deadline);
  bool ShutDownWithDrain() {
    return ShutDownWithDrainUntil(absl::InfiniteFuture());
  }

  // Returns whether the scheduler has been shut down.
  bool ShuttingDown() const;

 private:
  // As long as there is a task it is in waiting_. While it runs it is not due.
  struct Task : internal::SlotMapEntry {
    explicit Task(Function&& f) : function(std::move(f)) {}

    bool running() const { return runner != std::thread::id(); }

    std::thread::id runner;  // of the run in progress, if there is one
    Function function;       // empty when it has run for the last time
    // Zero if there is no further run.
    absl::Duration period;
    // When the next run is due; while one is in progress, from when that is
    // counted.
    absl::Time due_at;
    bool fixed_rate = false;
  };

  using TaskTable = internal::SlotMap<Task, TaskIdTag>;

  struct Worker {
    internal::LeaderFollowers::Waiter waiter;
    std::unique_ptr<Parker> parker;
  };

  explicit Scheduler(SchedulerOptions options);

  absl::StatusOr<TaskId> Schedule(Function&& function, absl::Duration delay,
                                  absl::Duration period, bool fixed_rate);

  // What a worker does: runs tasks until the scheduler is shut down.
  void Work(Worker& worker);
  void Run(Task* task);

  // Returns a task that is due, whose run begins `now`; null if there is none.
  Task* BeginRun(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The run of `task` ends `now`, for the last time if it has no function left.
  void EndRun(Task* task, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Sees that no run of `task` begins any more. Returns true if there would
  // have been one. If it destroys `task`, it moves its function to
  // `*cancelled`, to be destroyed without the lock.
  bool CancelTask(Task* task, Function* cancelled)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Destroys `task`.
  void Remove(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Takes nothing in from now on, and cancels all tasks, those that are due
  // only if `drop_due`. Returns whether it was called by one that runs.
  bool StopScheduling(bool drop_due) ABSL_LOCKS_EXCLUDED(mu_);

  Clock* const clock_;
  const std::function<void(TaskId, std::exception_ptr)> on_exception_;
  const internal::Log log_;

  mutable absl::Mutex mu_;
  TaskTable tasks_ ABSL_GUARDED_BY(mu_);
  // The tasks' places in tasks_.
  internal::WaitingSet waiting_ ABSL_GUARDED_BY(mu_);
  internal::LeaderFollowers waiters_ ABSL_GUARDED_BY(mu_);
  bool shutting_down_ ABSL_GUARDED_BY(mu_) = false;
  // Whether a task that was due was dropped at the shutdown.
  bool dropped_due_ ABSL_GUARDED_BY(mu_) = false;
  size_t failed_runs_ ABSL_GUARDED_BY(mu_) = 0;

  std::vector<Worker> workers_;
  internal::WorkerPool pool_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_SCHEDULER_H_
