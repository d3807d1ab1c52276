// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/thread_pool.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

using internal::MutexLock;

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(
    ThreadPoolOptions options) {
  const size_t threads = options.threads;
  if (threads == 0) {
    return absl::InvalidArgumentError("threads is 0; it must be at least 1");
  }
  std::unique_ptr<ThreadPool> pool;
  const bool made = internal::TryCall(
      [&] { pool = absl::WrapUnique(new ThreadPool(std::move(options))); });
  if (!made) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there is no memory for ", threads, " threads"));
  }
  absl::Status started = pool->threads_.Start(
      threads, [p = pool.get()](size_t i) { p->Work(&p->workers_[i]); });
  if (!started.ok()) return started;
  return pool;
}

ThreadPool::ThreadPool(ThreadPoolOptions options)
    : name_(options.name),
      errors_("thread pool", options.name, options.log_sink,
              OrRealClock(options.clock)),
      workers_(options.threads) {
  for (Worker& worker : workers_) {
    worker.parker = OrRealClock(options.clock)->NewParker(Parker::Role::kLoop);
  }
  idle_.reserve(options.threads);
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    UnparkIdle();
  }
  threads_.Join();
}

void ThreadPool::Execute(absl::AnyInvocable<void() &&> task) {
  internal::DieIfNull(task, "task of Execute()");
  Worker* worker = nullptr;
  {
    MutexLock lock(&mu_);
    tasks_.Push(std::move(task));
    if (idle_.empty()) return;
    worker = idle_.back();
    idle_.pop_back();
    worker->idle = false;
    waking_.fetch_add(1);
  }
  // Without the lock, because the woken thread takes it.
  worker->parker->Unpark();
  waking_.fetch_sub(1);
}

void ThreadPool::UnparkIdle() {
  for (Worker* worker : idle_) worker->parker->Unpark();
}

bool ThreadPool::TakeTask(Worker* self, absl::AnyInvocable<void() &&>* task) {
  MutexLock lock(&mu_);
  // The thread is still idle if a clock that went back has woken it.
  if (std::exchange(self->idle, false)) {
    idle_.erase(std::find(idle_.begin(), idle_.end(), self));
  }
  const bool ran = std::exchange(self->running, false);
  if (ran) --running_;
  *task = nullptr;
  if (tasks_.empty()) {
    // A task that runs may submit another one, and wait for it.
    if (closing_ && running_ == 0) {
      if (ran) UnparkIdle();
      return false;
    }
    self->idle = true;
    idle_.push_back(self);
    return true;
  }
  *task = tasks_.Pop();
  self->running = true;
  ++running_;
  return true;
}

void ThreadPool::Work(Worker* self) {
  internal::NameThisThread(name_, "pool");
  // Shows the clock this thread, so that `FakeClock::Step()` does not wait for
  // a first task that waits on the clock.
  self->parker->ParkUntil(absl::InfinitePast());
  absl::AnyInvocable<void() &&> task;
  while (TakeTask(self, &task)) {
    if (task == nullptr) {
      self->parker->ParkUntil(absl::InfiniteFuture());
      continue;
    }
    errors_.Try([] { return "a task has thrown"; },
                [&task] { std::move(task)(); });
    task = nullptr;  // Destroyed before the thread waits.
  }
  // This thread is not idle any more, but the call of `Execute()` that has
  // woken it may not have returned.
  while (waking_.load() > 0) {
    sync::Yield();
  }
  // From here on, a simulated clock does not wait for this thread.
  self->parker.reset();
}

}  // namespace workqueue
