// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_TRAMPOLINE_H_
#define WORKQUEUE_BASE_TRAMPOLINE_H_

#include "absl/functional/any_invocable.h"

namespace workqueue::internal {

// Trampoline
//
// Keeps the stack of a thread short although each task submits the next one. A
// task that is submitted by a running task of the same kind is deferred until
// the outermost running task of the thread has returned.
//
// Each thread has one.
class Trampoline {
 public:
  using Task = absl::AnyInvocable<void() &&>;
  using RunFunction = void (*)(void* executor, Task&& task);

  // Exists while a task of the kind `kind` runs. The end of the outermost one
  // runs the tasks that have been deferred.
  class Running {
   public:
    explicit Running(const void* kind);
    ~Running();

    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    friend class Trampoline;

    const void* kind_;
    Running* const outer_;
  };

  // Returns whether a task of the kind `kind` runs on this thread.
  static bool Runs(const void* kind);

  // Calls `run(executor, task)` later. If there is no memory, throws, and
  // leaves `task` as it was.
  static void Defer(RunFunction run, void* executor, Task&& task);

  // Runs the tasks that have been deferred. Call this before this thread waits
  // for them.
  static void RunDeferred();

 private:
  struct Deferred {
    RunFunction run;
    void* executor;
    Task task;
  };
  struct State;
  static State& OfThread();
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_TRAMPOLINE_H_
