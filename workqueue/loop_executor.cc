// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/loop_executor.h"

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using internal::MutexLock;

namespace {

Clock* ClockOf(const std::shared_ptr<WaitingLoop>& loop) {
  internal::DieIfNull(loop, "loop of a LoopExecutor");
  return loop->clock();
}

}  // namespace

LoopExecutor::LoopExecutor(std::shared_ptr<WaitingLoop> loop, LogSink* log_sink)
    : errors_("loop executor", "", log_sink, ClockOf(loop)),
      loop_(std::move(loop)) {
  loop_->Add(this);
}

LoopExecutor::~LoopExecutor() {
  loop_->Remove(this);
  while (RunNext()) {
  }
}

void LoopExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  internal::DieIfNull(task, "task of Execute()");
  MutexLock lock(&mu_);
  tasks_.Push(std::move(task));
  // With the lock, because a task may lead to the end of this executor.
  if (!std::exchange(will_run_, true)) loop_->Wake(this);
}

bool LoopExecutor::RunNext() {
  absl::AnyInvocable<void() &&> task;
  {
    MutexLock lock(&mu_);
    if (tasks_.empty()) return false;
    task = tasks_.Pop();
  }
  // Destroys the task, too.
  errors_.Try([] { return "a task has thrown"; },
              [&task] { std::exchange(task, nullptr)(); });
  return true;
}

absl::Time LoopExecutor::Run(absl::Time now) {
  for (int i = 0; i < kMostAtOnce && RunNext(); ++i) {
  }
  MutexLock lock(&mu_);
  will_run_ = !tasks_.empty();
  return will_run_ ? now : absl::InfiniteFuture();
}

}  // namespace workqueue
