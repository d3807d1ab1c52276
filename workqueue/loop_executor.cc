// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/loop_executor.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/log_sink.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using internal::MutexLock;

LoopExecutor::LoopExecutor(std::shared_ptr<WaitingLoop> loop, LogSink* log_sink)
    : errors_("loop executor", "", log_sink, loop->clock()),
      loop_(std::move(loop)) {
  loop_->Add(this);
}

LoopExecutor::~LoopExecutor() {
  loop_->Remove(this);
  while (RunNext()) {
  }
}

void LoopExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  MutexLock lock(&mu_);
  tasks_.Push(std::move(task));
  // With the lock, because a task may lead to the end of this executor.
  if (num_tasks_++ == 0 && !runs_) loop_->Wake(this);
}

bool LoopExecutor::RunNext() {
  return RunNextAndCount(/*in_run=*/false).has_value();
}

std::optional<size_t> LoopExecutor::RunNextAndCount(bool in_run) {
  absl::AnyInvocable<void() &&> task;
  size_t left;
  {
    MutexLock lock(&mu_);
    if (num_tasks_ == 0) return std::nullopt;
    runs_ |= in_run;
    task = tasks_.Pop();
    left = --num_tasks_;
  }
  // Destroys the task, too.
  errors_.Try([] { return "a task has thrown"; },
              [&task] { std::exchange(task, nullptr)(); });
  return left;
}

absl::Time LoopExecutor::Run(absl::Time now) {
  size_t left = RunNextAndCount(/*in_run=*/true).value_or(0);
  while (left > 0 && RunNext()) --left;
  MutexLock lock(&mu_);
  runs_ = false;
  return num_tasks_ > 0 ? now : absl::InfiniteFuture();
}

}  // namespace workqueue
