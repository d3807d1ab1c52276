// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_EXECUTOR_H_
#define WORKQUEUE_EXECUTOR_H_

#include <memory>

#include "absl/functional/any_invocable.h"

namespace workqueue {

class LogSink;

namespace internal {
class ErrorLog;
}  // namespace internal

// Executor
//
// Runs tasks. A queue runs the callbacks of `AcquireAsync()` on an executor,
// and a controller runs asynchronous reconcile functions on one.
//
// This library has three executors: `InlineExecutor` below, `ThreadPool` in
// `workqueue/thread_pool.h`, and `LoopExecutor` in `workqueue/loop_executor.h`,
// which runs tasks on the thread of a `WaitingLoop`. To run tasks on an event
// loop of your own, derive a class:
//
//     class AsioExecutor final : public workqueue::Executor {
//      public:
//       explicit AsioExecutor(boost::asio::io_context* loop) : loop_(*loop) {}
//
//       void Execute(absl::AnyInvocable<void() &&> task) override {
//         boost::asio::post(loop_, [task = std::move(task)]() mutable {
//           std::move(task)();
//         });
//       }
//
//      private:
//       boost::asio::io_context& loop_;
//     };
//
// Implementations must be thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` once, now or later, on any thread. An executor may run its
  // tasks before this returns: what such a task lets the library submit to the
  // same executor is submitted when the task has returned, so tasks do not
  // nest. `task` is not null: the executors of this library abort the program
  // if it is.
  //
  // `task` throws what the callback in it throws. The executor decides what
  // happens to such an exception, but must not throw it here, even if it runs
  // tasks before this returns: an exception of this function means that `task`
  // has not begun, and a queue then runs the callback on the thread that called
  // this. So this should not throw at all.
  virtual void Execute(absl::AnyInvocable<void() &&> task) = 0;

  // Returns whether this thread is the only one that runs tasks, as on an event
  // loop. A destructor that would wait for a task then aborts the program, with
  // a message, and does not wait for ever. Called with locks of queues held, so
  // must not call them.
  virtual bool RunsHere() const { return false; }
};

// InlineExecutor
//
// Runs each task on the thread that submits it, before `Execute()` returns. But
// a task that is submitted by a running task of any `InlineExecutor` runs on
// the same thread when the outermost task of the thread has returned, which may
// be one of another executor that runs tasks at once. So tasks do not nest.
//
// Use it for callbacks that only pass the work on. The thread that submits a
// task may be any thread that uses the queue: for example, the thread that
// calls `Add()`, or the queue's own thread. A task that blocks holds up this
// thread and the tasks that the thread has submitted.
//
// An exception of a task is logged and dropped.
//
// Thread-safe.
class InlineExecutor final : public Executor {
 public:
  // `log_sink` receives a message for each task that throws; null means that
  // nobody does. Not owned; must outlive the executor.
  explicit InlineExecutor(LogSink* log_sink = nullptr);
  ~InlineExecutor() override;

  void Execute(absl::AnyInvocable<void() &&> task) override;

 private:
  const std::unique_ptr<internal::ErrorLog> errors_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_EXECUTOR_H_
