// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TESTING_MANUAL_EXECUTOR_H_
#define WORKQUEUE_TESTING_MANUAL_EXECUTOR_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/executor.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// ManualExecutor
//
// An executor for tests. It keeps tasks until the test runs them, so the test
// determines what happens between a submission and its task.
//
// Thread-safe.
class ManualExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    internal::DieIfNull(task, "task of Execute()");
    internal::MutexLock lock(&mu_);
    tasks_.push_back(std::move(task));
  }

  // Returns the number of tasks that have been submitted and have not begun.
  size_t size() const {
    internal::MutexLock lock(&mu_);
    return tasks_.size();
  }

  // Runs the first task on the calling thread. Returns false if there is none.
  bool RunOne() {
    absl::AnyInvocable<void() &&> task;
    {
      internal::MutexLock lock(&mu_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)();
    return true;
  }

  // Runs tasks on the calling thread until there are none, also those that the
  // tasks submit.
  void RunAll() {
    while (RunOne()) {
    }
  }

 private:
  mutable sync::Mutex mu_;
  std::deque<absl::AnyInvocable<void() &&>> tasks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TESTING_MANUAL_EXECUTOR_H_
