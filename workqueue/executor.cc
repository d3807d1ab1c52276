// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/executor.h"

#include <utility>

#include "absl/functional/any_invocable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/fifo.h"
#include "workqueue/log_sink.h"

namespace workqueue {

// A task that a running task has submitted.
struct InlineExecutor::Submitted {
  InlineExecutor* executor;
  absl::AnyInvocable<void() &&> task;
};

struct InlineExecutor::TasksOfThread {
  static TasksOfThread& Get() {
    thread_local TasksOfThread tasks;
    return tasks;
  }

  // Whether a task runs on this thread.
  bool running = false;
  // The tasks that the running task has submitted.
  internal::Fifo<Submitted> submitted;
};

InlineExecutor::InlineExecutor(LogSink* log_sink)
    : errors_("inline executor", "", log_sink, Clock::GetRealClock()) {}

void InlineExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  TasksOfThread& tasks = TasksOfThread::Get();
  if (tasks.running) {
    tasks.submitted.Push({this, std::move(task)});
    return;
  }
  tasks.running = true;
  Run(std::move(task));
  while (!tasks.submitted.empty()) {
    Submitted next = tasks.submitted.Pop();
    next.executor->Run(std::move(next.task));
  }
  tasks.running = false;
}

void InlineExecutor::Run(absl::AnyInvocable<void() &&> task) {
  errors_.Try([] { return "a task has thrown"; },
              [&task] { std::move(task)(); });
}

}  // namespace workqueue
