// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LOOP_EXECUTOR_H_
#define WORKQUEUE_LOOP_EXECUTOR_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/fifo.h"
#include "workqueue/executor.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// LoopExecutor
//
// Runs tasks on the thread of a `WaitingLoop`, in the order in which they were
// submitted. A program that drives its loop needs no other executor: the tasks
// run in `WaitingLoop::RunDue()`, also those that tasks submit, but at most 100
// in a call.
//
// Example:
//
//     workqueue::LoopExecutor executor(loop);
//     queue.AcquireAsync(&executor, [](auto lease) { ... });
//
// A task that is submitted on the loop's thread costs no system call. If the
// loop sleeps, the loop's `wake` function is called, once for all tasks of
// another thread that come before the loop has run.
//
// An exception of a task is logged and dropped.
//
// Submitting a task takes O(log n) for n clients of the loop, or constant time
// if there is a task before it. It allocates nothing in the steady state if the
// task fits into an `absl::AnyInvocable` of its size.
//
// Thread-safe. A task may call `Execute()`, but must not destroy the executor.
class LoopExecutor final : public Executor, private WaitingLoop::Client {
 public:
  // `log_sink` receives a message for each task that throws; null means that
  // nobody does. Not owned; must outlive the executor. Aborts the program if
  // `loop` is null. May throw `std::bad_alloc`.
  explicit LoopExecutor(std::shared_ptr<WaitingLoop> loop,
                        LogSink* log_sink = nullptr);

  // Runs the tasks that are left, on this thread, also those that they submit.
  // If another thread runs the loop, first blocks until no task runs.
  ~LoopExecutor() override;

  LoopExecutor(const LoopExecutor&) = delete;
  LoopExecutor& operator=(const LoopExecutor&) = delete;

  // Throws `std::bad_alloc` if there is no memory.
  void Execute(absl::AnyInvocable<void() &&> task) override;

  // Returns whether this is the loop's thread.
  bool RunsHere() const override { return loop_->IsRunHere(); }

  // Runs the next task, on this thread. Returns false if there is none. The
  // loop's thread calls this where it would wait for a task.
  bool RunNext();

 private:
  absl::Time Run(absl::Time now) override;

  internal::ErrorLog errors_;
  const std::shared_ptr<WaitingLoop> loop_;

  sync::Mutex mu_;
  internal::Fifo<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mu_);
  // Whether Run() will look for tasks, so that nobody need wake the loop.
  bool will_run_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LOOP_EXECUTOR_H_
