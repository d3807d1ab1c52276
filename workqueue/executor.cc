// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/executor.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"

namespace workqueue {

// A task that a running task has submitted.
struct InlineExecutor::Submitted {
  InlineExecutor* executor;
  absl::AnyInvocable<void() &&> task;
};

// The tasks that the running task of a thread has submitted, in order.
class InlineExecutor::TasksOfThread {
 public:
  static TasksOfThread& Get() {
    thread_local TasksOfThread tasks;
    return tasks;
  }

  bool empty() const { return first_ == tasks_.size(); }

  void Push(Submitted task) { tasks_.push_back(std::move(task)); }

  Submitted Pop() {
    Submitted task = std::move(tasks_[first_++]);
    // At most half of the vector is unused, and usually nothing is moved.
    if (2 * first_ >= tasks_.size()) {
      tasks_.erase(tasks_.begin(),
                   tasks_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return task;
  }

  // Whether a task runs on this thread.
  bool running = false;

 private:
  std::vector<Submitted> tasks_;
  size_t first_ = 0;
};

InlineExecutor::InlineExecutor(LogSink* log_sink)
    : errors_("inline executor", "", log_sink, Clock::GetRealClock()) {}

void InlineExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  TasksOfThread& tasks = TasksOfThread::Get();
  if (tasks.running) {
    tasks.Push({this, std::move(task)});
    return;
  }
  tasks.running = true;
  Run(std::move(task));
  while (!tasks.empty()) {
    Submitted next = tasks.Pop();
    next.executor->Run(std::move(next.task));
  }
  tasks.running = false;
}

void InlineExecutor::Run(absl::AnyInvocable<void() &&> task) {
  errors_.Try([] { return "a task has thrown"; },
              [&task] { std::move(task)(); });
}

}  // namespace workqueue
