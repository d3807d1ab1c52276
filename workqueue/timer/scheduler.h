// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

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
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/handle.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/internal/leader_followers.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// TaskId
//
// Names a task of a `Scheduler`, for `Cancel()` and `CancelAndWait()`. An id
// can be kept for any time: once its task is gone, it names nothing, and never
// another task. Copyable, comparable and hashable; a default-constructed id
// names nothing.
using TaskId = internal::Handle<struct TaskIdTag>;

// SchedulerOptions
//
// Options for a `Scheduler`. Every field has a usable default.
struct SchedulerOptions {
  // The name of the scheduler in log messages and in the names of its threads.
  std::string name;

  // The clock of the scheduler, or a loop that runs the tasks, one at a time.
  // Then the scheduler has no thread.
  QueueClock clock;

  // The number of threads that run tasks. Must be at least 1, and the default
  // if `clock` is a loop.
  size_t workers = 4;

  // The data structure that keeps the tasks until they are due.
  WaitingSetOptions waiting_set;

  // Called with the exception that a run of a task has thrown, on the thread of
  // that run. May call the scheduler; should not throw. Every such run is
  // counted and logged, too.
  std::function<void(TaskId, std::exception_ptr)> on_exception;

  // Receives the messages of the scheduler, an error for each run that throws;
  // null for no messages. The scheduler sends at most ten messages at once, and
  // then two per second. A message says how many runs before it were left out.
  // Not owned; must outlive the scheduler.
  LogSink* log_sink = nullptr;
};

// ScheduleEveryOptions
//
// Options for a periodic task. Every field has a usable default.
struct ScheduleEveryOptions {
  // The delay of the first run; a negative delay counts as zero. The default is
  // the period.
  std::optional<absl::Duration> initial_delay;

  // False: a run is due one period after the previous run began.
  //
  // True: the times at which runs are due are one period apart, whenever the
  // runs begin. Runs that could not begin in time are made up for, one after
  // the other.
  bool fixed_rate = false;
};

// SchedulerSnapshot
//
// The tasks of a `Scheduler` at one moment, for debugging.
struct SchedulerSnapshot {
  struct Running {
    TaskId id;
    absl::Time since;
    absl::Duration period;  // zero if no further run follows
  };

  struct Waiting {
    TaskId id;
    absl::Time due_at;
    absl::Duration period;  // zero if no run follows the next one
  };

  absl::Time taken_at;
  bool shutting_down = false;
  size_t num_waiting = 0;  // which may exceed the size of the list
  size_t failed_runs = 0;
  std::vector<Running> running;  // running longest first
  std::vector<Waiting> waiting;  // in the order of `due_at`
};

// Scheduler
//
// Runs functions at a later time, once or periodically, on a fixed number of
// threads.
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
// A run never begins before it is due on the clock of the scheduler. When it is
// due, it begins as soon as a thread is free; runs that are due earlier begin
// earlier. The runs of a task never overlap: a run that is due during the
// previous run begins when that has ended. With a timing wheel, a run is up to
// one tick late. If the clock goes back, a run still waits until the clock
// reaches its time. A run that was due already may also begin before the clock
// reaches that time again; one that was due when a drain began does. A delay or
// period of more than 146 years may never end.
//
// There is no timer thread: one of the idle workers sleeps until the first task
// is due. So a long task delays other tasks only if all workers are busy. A
// scheduler on a `WaitingLoop` has no thread at all: its tasks run on that of
// the loop. Other clients of the loop wait meanwhile, and have their turn after
// 100 tasks at most.
//
// Scheduling and cancelling take O(log n) for n tasks, or constant time with a
// timing wheel. The function of a task is destroyed when the task has run for
// the last time or is cancelled, not later when it would have been due.
//
// If a run throws, the scheduler counts the run, logs the exception and passes
// it to `SchedulerOptions::on_exception`. A periodic task continues to run.
//
// On a `workqueue::FakeClock`, `Step()` returns when all runs that were due
// have ended, except for runs that wait for a later time on that clock.
//
// Thread-safe. A task may call every function of its scheduler, but must not
// destroy it. So may the destructor of its function.
class Scheduler : private WaitingLoop::Client {
 public:
  using Function = absl::AnyInvocable<void()>;

  // Makes a scheduler and starts its threads. Returns
  // `absl::InvalidArgumentError` if `options.workers` is out of its range, and
  // `absl::ResourceExhaustedError` if the threads could not be started.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      SchedulerOptions options = {});

  // Shuts down, and blocks until all runs have ended. A `std::unique_ptr` to
  // the scheduler is already null then: if tasks use the scheduler through that
  // pointer, call `ShutDownWithDrain()` before.
  ~Scheduler() override;

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Schedules `function` to run once when `delay` has passed; as soon as
  // possible if `delay` is zero or negative.
  //
  // Returns `absl::InvalidArgumentError` if `function` is empty, and
  // `absl::FailedPreconditionError` if the scheduler has been shut down.
  absl::StatusOr<TaskId> ScheduleOnce(Function function, absl::Duration delay);

  // Schedules `function` to run every `period` until it is cancelled. See
  // `ScheduleEveryOptions` for the times of the runs.
  //
  // Returns `absl::InvalidArgumentError` if `function` is empty or `period` is
  // not positive or infinite, and `absl::FailedPreconditionError` if the
  // scheduler has been shut down.
  absl::StatusOr<TaskId> ScheduleEvery(
      Function function, absl::Duration period,
      const ScheduleEveryOptions& options = {});

  // Cancels the task that `id` names: no further run of it begins. If a run is
  // in progress, it continues, and the task is destroyed when it has ended;
  // otherwise this call destroys the task, unless another call does so already.
  // A task may cancel itself.
  //
  // Returns true if the task would have run again.
  bool Cancel(TaskId id);

  // Like `Cancel()`. If a run of the task is in progress, or another call
  // destroys the task, also blocks until the run has ended and the task is
  // destroyed, unless the task or the destructor of its function makes this
  // call. Afterwards the caller can destroy what the task uses.
  bool CancelAndWait(TaskId id);

  // Returns the number of tasks, including running ones. The number may have
  // changed when the call returns.
  size_t Len() const;

  // Returns the number of runs that have thrown.
  size_t FailedRuns() const;

  // Returns the runs in progress, and the `max` tasks that are due first. Takes
  // O(`max` log `max`) with the lock held; with a timing wheel O(n) for n
  // tasks.
  SchedulerSnapshot TakeSnapshotUpTo(size_t max) const;

  // Return options of the scheduler. On a loop there is one worker.
  const std::string& name() const { return name_; }
  size_t num_workers() const { return workers_.size(); }

  // Refuses new tasks and begins no further run. Destroys all tasks; a running
  // task is destroyed when its run has ended. Does not block. May be called
  // from any thread and more than once.
  void ShutDown();

  // Like `ShutDown()`, but each task that is due and does not run now still
  // runs once. Blocks until all runs have ended and all tasks are destroyed, or
  // until `timeout` has passed on the scheduler's clock. Returns true if all
  // runs have ended and no due task was dropped.
  //
  // If a task makes this call, or the thread of the scheduler's loop, the call
  // does not block and returns false.
  bool ShutDownWithDrainWithin(absl::Duration timeout);
  bool ShutDownWithDrain() {
    return ShutDownWithDrainWithin(absl::InfiniteDuration());
  }

  // Returns whether the scheduler has been shut down.
  bool ShuttingDown() const;

 private:
  // A task is in waiting_ until it is withdrawn, or its last run has ended.
  // While it runs it is not due.
  struct Task : internal::SlotMapEntry {
    explicit Task(Function&& f) : function(std::move(f)) {}

    bool in_use() const { return user != std::thread::id(); }

    // A cancellation needs what comes before `due_at`.
    std::thread::id user;   // the thread that runs or destroys it, if any
    absl::Duration period;  // zero if no further run follows
    // The next one that `user` destroys; null if there is none.
    Task* next_withdrawn = nullptr;
    Function function;  // empty when it has run for the last time
    // When the next run is due. During a run, the time from which the period
    // to the next run is counted.
    absl::Time due_at;
    bool fixed_rate = false;
    bool withdrawn = false;  // not in waiting_: `user` destroys it
  };

  using TaskTable = internal::SlotMap<Task, TaskIdTag>;

  struct Worker {
    internal::LeaderFollowers::Waiter waiter;
    std::unique_ptr<Parker> parker;
    Task* task = nullptr;  // the one that runs; null if there is none
    absl::Time began_at;   // valid during a run
  };

  explicit Scheduler(SchedulerOptions options);

  absl::StatusOr<TaskId> Schedule(Function&& function, absl::Duration delay,
                                  absl::Duration period, bool fixed_rate);

  // Runs tasks on a worker thread until the scheduler is shut down.
  void Work(Worker& worker);
  // Runs tasks on the thread of the loop.
  absl::Time Run(absl::Time now) override;
  void Call(Task* task);

  // Ends the run of `worker.task`, if it is not null, and begins that of the
  // next one that is due, if `begin`. If there is none, `worker.task` becomes
  // null. If `begin`, the worker then waits until `*wake_at`. Returns false if
  // the worker must end.
  bool NextTask(Worker& worker, bool begin, absl::Time* wake_at);

  // Returns a task that is due, and begins its run `now`; null if no task is
  // due.
  Task* BeginRun(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Returns the `count` tasks that wait and are due first, in this order. There
  // must be as many.
  std::vector<const Task*> FirstDue(size_t count) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Ends the run of `task` at `now`. It is the last run if the task has no
  // function left.
  void EndRun(Task* task, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Prevents further runs of `task`. Returns true if it would have run again.
  // Destroys `task` if no thread uses it.
  bool CancelTask(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The parts of the destruction of tasks that no thread uses. `Destroy()`
  // destroys the functions without the lock. Until all of them are gone, the
  // tasks can be found: a call that waits for one waits for its function.
  void Withdraw(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Destroy(Task* first_withdrawn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Destroys `task`, which is not in waiting_. May move another task, which no
  // thread uses, to another address.
  void Remove(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Refuses new tasks and cancels all tasks; tasks that are due only if
  // `drop_due`. Returns whether a running task has made this call.
  bool StopScheduling(bool drop_due) ABSL_LOCKS_EXCLUDED(mu_);

  const std::string name_;
  const std::shared_ptr<WaitingLoop> loop_;  // null if there are threads
  Clock* const clock_;
  const std::function<void(TaskId, std::exception_ptr)> on_exception_;
  internal::ErrorLog errors_;

  mutable sync::Mutex mu_;
  TaskTable tasks_ ABSL_GUARDED_BY(mu_);
  // When the tasks are due, by their slots in tasks_.
  internal::WaitingSet waiting_ ABSL_GUARDED_BY(mu_);
  internal::LeaderFollowers waiters_ ABSL_GUARDED_BY(mu_);
  bool shutting_down_ ABSL_GUARDED_BY(mu_) = false;
  // The latest time at which the scheduler was shut down. A task that was due
  // then stays due, even if the clock goes back.
  absl::Time stopped_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  // Whether a task that was due was dropped at the shutdown.
  bool dropped_due_ ABSL_GUARDED_BY(mu_) = false;
  size_t failed_runs_ ABSL_GUARDED_BY(mu_) = 0;

  std::vector<Worker> workers_;  // mu_ guards the tasks and their times
  internal::WorkerPool pool_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_SCHEDULER_H_
