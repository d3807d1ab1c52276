// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/lifecycle.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/internal/source_status.h"
#include "workqueue/internal/catch_as_status.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/printable.h"
#include "workqueue/internal/retry_delay.h"
#include "workqueue/log_sink.h"

namespace workqueue {
namespace internal {
namespace {

// Returns `error` for a message.
std::string Print(const absl::Status& error) {
  return Printable(error.ToString(), kPrintedErrorBytes);
}

// Calls `f()`, a function of `source`, and returns its status. Turns an
// exception into an error. The message of an error names the source.
template <typename F>
absl::Status Call(const LifecycleSource& source, F f) {
  // The outer call catches an exception from the annotation, which allocates.
  return CatchAsStatus(
      [&] { return AnnotateWithSource(source.name, CatchAsStatus(f)); });
}

}  // namespace

Lifecycle::Lifecycle(absl::string_view controller, LogSink* log_sink,
                     Clock* clock, size_t workers, absl::Duration sync_timeout,
                     std::vector<LifecycleSource> sources, LifecycleHooks hooks)
    : clock_(clock),
      log_("controller", controller, log_sink),
      errors_("controller", controller, log_sink, clock),
      num_workers_(workers),
      sync_timeout_(sync_timeout),
      sources_(std::move(sources)),
      hooks_(std::move(hooks)) {}

absl::Status Lifecycle::Start() {
  {
    MutexLock lock(&mu_);
    if (state_ != State::kNew) {
      return absl::FailedPreconditionError(absl::StrCat(
          log_.who(), stopping_.HasBeenNotified()
                          ? " has been stopped, and cannot be started again"
                          : " has been started already"));
    }
    state_ = State::kStarting;
  }
  log_.Info([] { return "starting"; });
  // Turns std::bad_alloc into a status.
  absl::Status status = CatchAsStatus([this] {
    const absl::Status started = StartSources();
    return started.ok() ? AwaitSync() : started;
  });
  {
    MutexLock lock(&mu_);
    // With the lock, so that no stop can begin between the checks in
    // StartWorkers() and the start of the workers.
    status = CatchAsStatus([this, &status]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return StartWorkers(status);
    });
    state_ = status.ok() ? State::kRunning : State::kNotRunning;
  }
  if (!status.ok()) {
    log_.Error(
        [&status] { return absl::StrCat("not started: ", Print(status)); });
    Stop(absl::ZeroDuration());
  }
  return status;
}

absl::Status Lifecycle::StartSources() {
  const std::function<void(size_t)> run = [this](size_t i) {
    RunSource(sources_[i]);
  };
  {
    MutexLock lock(&mu_);
    for (const LifecycleSource& source : sources_) {
      if (source.wait_for_sync) unsynced_.push_back(&source);
    }
    running_sources_ = sources_.size();
  }
  const absl::Status status = source_pool_.Start(sources_.size(), run);
  MutexLock lock(&mu_);
  running_sources_ -= sources_.size() - source_pool_.size();
  return status;
}

absl::Status Lifecycle::AwaitSync() {
  const absl::Time deadline = clock_->TimeNow() + sync_timeout_;
  MutexLock lock(&mu_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return unsynced_.empty() || stopping_.HasBeenNotified();
  };
  if (clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), deadline)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "not in sync within ", absl::FormatDuration(sync_timeout_), ": ",
      absl::StrJoin(unsynced_, ", ", [](std::string* out, const auto* source) {
        absl::StrAppend(out, source->name);
      })));
}

absl::Status Lifecycle::StartWorkers(const absl::Status& sources_started) {
  // source_status_ has no error of a source that failed after the stop began.
  if (!source_status_.ok()) return source_status_;
  if (stopping_.HasBeenNotified()) {
    return absl::CancelledError("stopped before it was started");
  }
  if (!sources_started.ok()) return sources_started;
  log_.Info(
      [this] { return absl::StrCat("starting workers: ", num_workers_); });
  const absl::Status status =
      worker_pool_.Start(num_workers_, [this](size_t) { RunWorker(); });
  // The count is in time: a worker that ends must take mu_ first.
  running_workers_ = worker_pool_.size();
  return status;
}

void Lifecycle::MarkSynced(const LifecycleSource& source) {
  MutexLock lock(&mu_);
  unsynced_.erase(std::remove(unsynced_.begin(), unsynced_.end(), &source),
                  unsynced_.end());
}

void Lifecycle::RunSource(const LifecycleSource& source) {
  const absl::Status status = Call(source, [this, &source] {
    return source.run([this, &source] { MarkSynced(source); });
  });
  if (status.ok()) {
    MarkSynced(source);
  } else if (!stopping_.HasBeenNotified()) {
    errors_.Write([&status] { return Print(status); });
    bool ends_start = false;
    {
      MutexLock lock(&mu_);
      ends_start = state_ == State::kStarting && !stopping_.HasBeenNotified();
      if (ends_start) source_status_.Update(status);
    }
    if (ends_start) BeginStop();
  }
  MutexLock lock(&mu_);
  --running_sources_;
}

void Lifecycle::RunWorker() {
  hooks_.work();
  MutexLock lock(&mu_);
  --running_workers_;
  item_done_.SignalAll();
}

void Lifecycle::BeginStop() {
  {
    MutexLock lock(&mu_);
    if (stopping_.HasBeenNotified()) return;
    // Logged before the notification, so that this message precedes the
    // messages that the notification causes.
    log_.Info([] { return "stopping"; });
    stopping_.Notify();
  }
  for (const LifecycleSource& source : sources_) {
    if (source.on_stop == nullptr) continue;
    const absl::Status status = Call(source, source.on_stop);
    if (status.ok()) continue;
    errors_.Write([&status] { return Print(status); });
  }
}

void Lifecycle::BeginAbandoning() {
  if (!abandoning_.HasBeenNotified()) abandoning_.Notify();
  item_done_.SignalAll();
}

bool Lifecycle::Stop(absl::Duration timeout) {
  absl::Time drain_until = clock_->TimeNow() + timeout;
  BeginStop();
  if (RunsThisThread()) {
    hooks_.close_queue();
    return false;
  }
  bool sources_returned = false;
  {
    MutexLock lock(&mu_);
    if (state_ == State::kNew) state_ = State::kNotRunning;
    const auto not_starting = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_ != State::kStarting;
    };
    mu_.Await(absl::Condition(&not_starting));
    if (state_ != State::kRunning) drain_until = absl::InfinitePast();
    const auto no_sources = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return running_sources_ == 0;
    };
    sources_returned = clock_->AwaitWithDeadline(
        &mu_, absl::Condition(&no_sources), drain_until);
  }
  hooks_.close_queue();
  bool workers_ended = false;
  {
    MutexLock lock(&mu_);
    // If the timeout of another call passes first, this call returns, too. But
    // a call that begins after abandoning_ was notified waits for the
    // reconciliations in progress.
    const bool abandoned_before = abandoning_.HasBeenNotified();
    const auto over = [this,
                       abandoned_before]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return running_workers_ == 0 ||
             (!abandoned_before && abandoning_.HasBeenNotified());
    };
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), drain_until);
    workers_ended = state_ == State::kRunning && running_workers_ == 0;
  }
  // Workers without work may not have ended yet, and a controller that does not
  // run has no workers. Idle() decides these cases.
  const bool done = workers_ended || Idle();
  MutexLock lock(&mu_);
  if (!done) BeginAbandoning();
  const bool drained = !abandoning_.HasBeenNotified();
  if (!std::exchange(end_logged_, true)) {
    log_.Info([drained] {
      return drained ? "stopped" : "stopped before all was reconciled";
    });
  }
  return sources_returned && drained;
}

void Lifecycle::Join() {
  Stop(absl::ZeroDuration());
  {
    MutexLock lock(&mu_);
    BeginAbandoning();  // Wakes workers in AwaitRetry().
  }
  source_pool_.Join();
  worker_pool_.Join();
}

bool Lifecycle::Idle() const {
  bool idle = false;
  TryCall([&] { idle = hooks_.idle(); });
  return idle;
}

void Lifecycle::AwaitIdle() {
  ++idle_waiters_;
  absl::Cleanup leave = [this] { --idle_waiters_; };
  MutexLock lock(&mu_);
  const auto abandoned = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return abandoning_.HasBeenNotified() && running_workers_ == 0;
  };
  // No signal is lost: a worker that finishes an item after `idle()` has looked
  // at the queue sees idle_waiters_, and takes mu_ before it signals.
  while (!hooks_.idle() && !abandoned()) item_done_.Wait(&mu_);
}

void Lifecycle::OnItemDone() {
  if (idle_waiters_ == 0) return;
  MutexLock lock(&mu_);
  item_done_.SignalAll();
}

void Lifecycle::AwaitRetry(const absl::Notification& over) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&over, &absl::Notification::HasBeenNotified),
      clock_->TimeNow() + RetryDelay());
}

}  // namespace internal
}  // namespace workqueue
