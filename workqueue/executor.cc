// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/executor.h"

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"

namespace workqueue {

InlineExecutor::InlineExecutor(LogSink* log_sink)
    : errors_(std::make_unique<internal::ErrorLog>(
          "inline executor", "", log_sink, Clock::GetRealClock())) {}

InlineExecutor::~InlineExecutor() = default;

void InlineExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  internal::DieIfNull(task, "task of Execute()");
  static constexpr char kAnyInlineExecutor = 0;
  if (internal::Trampoline::Runs(&kAnyInlineExecutor)) {
    internal::Trampoline::Defer(
        [](void* self, absl::AnyInvocable<void() &&>&& deferred) {
          static_cast<InlineExecutor*>(self)->Execute(std::move(deferred));
        },
        this, std::move(task));
    return;
  }
  const internal::Trampoline::Running running(&kAnyInlineExecutor);
  // The task is destroyed before `running` starts the next one.
  errors_->Try([] { return "a task has thrown"; },
               [task = std::move(task)]() mutable { std::move(task)(); });
}

}  // namespace workqueue
