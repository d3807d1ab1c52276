// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/lifecycle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/source.h"

namespace workqueue::internal {
namespace {

// Return `error`, and its message only, for a message.
std::string Print(const absl::Status& error) {
  return Printable(StatusText(error), kPrintedErrorBytes);
}

std::string PrintMessage(const absl::Status& error) {
  return Printable(error.message(), kPrintedErrorBytes);
}

// Returns `status` with another message. Keeps the code and the payloads.
absl::Status WithMessage(absl::string_view message,
                         const absl::Status& status) {
  absl::Status changed(status.code(), message);
  status.ForEachPayload(
      [&changed](absl::string_view type_url, const absl::Cord& payload) {
        changed.SetPayload(type_url, payload);
      });
  return changed;
}

// Returns `status` with "source `name`: " put before its message. Returns an OK
// status unchanged.
absl::Status AnnotateWithSource(absl::string_view name,
                                const absl::Status& status) {
  if (status.ok()) return status;
  return WithMessage(absl::StrCat("source ", name, ": ", status.message()),
                     status);
}

absl::Status WithPrintableMessage(const absl::Status& status) {
  return WithMessage(PrintMessage(status), status);
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

struct Lifecycle::SourceState {
  // Whether the start waits for the source.
  bool awaited = false;
  // Whether `run` has been called and has not returned.
  bool running = false;
  // Whether `error` was reported by the source in this run.
  bool reported = false;
  // Whether the source must call mark_synced() in each run to be healthy.
  bool marks_sync = false;
  // The delays before the next runs.
  RestartDelays delays;
  // The source's last error, until the source is healthy again. Its text
  // is as the source wrote it. Start() and Healthy() make it printable.
  absl::Status error;
};

Lifecycle::Lifecycle(const ControllerOptionsBase& options,
                     const GivenOptions& given)
    : name_(options.name),
      clock_(ClockOf(options, given.queue_clock)),
      log_("controller", name_, options.log_sink),
      errors_("controller", name_, options.log_sink, clock_),
      num_workers_(options.workers),
      sync_timeout_(options.sync_timeout),
      async_(given.reconcile_async) {}

Lifecycle::~Lifecycle() = default;

void Lifecycle::SetSources(std::vector<LifecycleSource> sources) {
  sources_ = std::move(sources);
  MutexLock lock(&mu_);
  source_states_ = std::vector<SourceState>(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i].wait_for_sync) continue;
    source_states_[i].awaited = true;
    source_states_[i].marks_sync = true;
    ++awaited_sources_;
  }
}

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
    start_error_ = status;
  }
  // Without the lock, because a worker may run on this thread.
  if (status.ok() && async_) StartAsync();
  if (!status.ok()) {
    log_.Error(
        [&status] { return absl::StrCat("not started: ", Print(status)); });
    Stop(absl::ZeroDuration());
  }
  return CatchAsStatus([&status] { return WithPrintableMessage(status); });
}

absl::Status Lifecycle::StartSources() {
  const std::function<void(size_t)> run = [this](size_t i) { RunSource(i); };
  {
    MutexLock lock(&mu_);
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
    return awaited_sources_ == 0 || stopping_.HasBeenNotified();
  };
  if (clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), deadline)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("not in sync within ", absl::FormatDuration(sync_timeout_),
                   ": ", AwaitedSources()));
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
  if (async_) {
    running_workers_ = num_workers_;
    return absl::OkStatus();
  }
  const absl::Status status =
      worker_pool_.Start(num_workers_, [this](size_t) { RunWorker(); });
  // The count is in time: a worker that ends must take mu_ first.
  running_workers_ = worker_pool_.size();
  return status;
}

void Lifecycle::MarkSynced(size_t i) {
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  if (std::exchange(state.awaited, false)) --awaited_sources_;
  state.marks_sync = true;
  if (!state.running) return;
  state.error = absl::OkStatus();
  state.delays.SetHealthy(true, clock_->TimeNow());
}

void Lifecycle::MarkUnhealthy(size_t i, const absl::Status& error) {
  const absl::Status named = AnnotateWithSource(sources_[i].name, error);
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  if (!state.running) return;
  state.error = named;
  state.reported = true;
  state.delays.SetHealthy(false, clock_->TimeNow());
}

std::string Lifecycle::AwaitedSources() const {
  std::vector<std::string> awaited;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const SourceState& state = source_states_[i];
    if (!state.awaited) continue;
    awaited.push_back(sources_[i].name);
    if (state.error.ok()) continue;
    absl::StrAppend(&awaited.back(), " (", state.error.message(), ")");
  }
  return absl::StrJoin(awaited, ", ");
}

absl::Status Lifecycle::RunSourceOnce(size_t i) {
  {
    MutexLock lock(&mu_);
    SourceState& state = source_states_[i];
    state.running = true;
    state.reported = false;
    if (!state.marks_sync) {
      state.error = absl::OkStatus();
      state.delays.SetHealthy(true, clock_->TimeNow());
    }
  }
  const LifecycleSource& source = sources_[i];
  absl::Status status = Call(source, [this, &source, i] {
    return source.run(
        [this, i] { MarkSynced(i); },
        [this, i](const absl::Status& error) { MarkUnhealthy(i, error); });
  });
  if (status.ok()) MarkSynced(i);
  {
    MutexLock lock(&mu_);
    source_states_[i].running = false;
    if (stopping_.HasBeenNotified()) return absl::OkStatus();
    source_states_[i].error = status;
  }
  if (status.ok()) {
    log_.Info([&source] {
      return absl::StrCat("source ", Printable(source.name),
                          " has returned OK: it adds no more items");
    });
  }
  return status;
}

void Lifecycle::RunSource(size_t i) {
  NameThisThread(sources_[i].name.empty() ? name_ : sources_[i].name, "source");
  const std::optional<RestartBackoff>& backoff = sources_[i].restart_backoff;
  while (true) {
    const absl::Status error = RunSourceOnce(i);
    if (error.ok()) break;
    if (!backoff.has_value()) {
      errors_.Write([&error] { return Print(error); });
      FailStart(error);
      break;
    }
    absl::Duration delay;
    {
      MutexLock lock(&mu_);
      delay = source_states_[i].delays.Next(*backoff, clock_->TimeNow());
    }
    errors_.Write([&error, delay] {
      return absl::StrCat(Print(error), " (restarted in ",
                          absl::FormatDuration(delay), ")");
    });
    if (!Sleep(delay)) break;
  }
  MutexLock lock(&mu_);
  --running_sources_;
}

void Lifecycle::FailStart(const absl::Status& error) {
  {
    MutexLock lock(&mu_);
    if (state_ != State::kStarting || stopping_.HasBeenNotified()) return;
    source_status_.Update(error);
  }
  BeginStop();
}

void Lifecycle::RunWorker() {
  NameThisThread(name_, "worker");
  Work();
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
  {
    MutexLock lock(&mu_);
    if (!abandoning_.HasBeenNotified()) abandoning_.Notify();
    item_done_.SignalAll();
  }
  if (async_) OnAbandoning();
}

bool Lifecycle::Stop(absl::Duration timeout) {
  absl::Time drain_until = clock_->TimeNow() + timeout;
  BeginStop();
  if (RunsThisThread()) {
    CloseQueue();
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
  CloseQueue();
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
  // run has no workers. The queue decides these cases.
  const bool done =
      (workers_ended && EndsAreKnown()) || IsKnownIdle(drain_until);
  if (!done) BeginAbandoning();
  MutexLock lock(&mu_);
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
  BeginAbandoning();  // Wakes workers in AwaitRetry().
  source_pool_.Join();
  worker_pool_.Join();
}

absl::Status Lifecycle::Healthy() const {
  MutexLock lock(&mu_);
  if (!start_error_.ok()) {
    return absl::Status(start_error_.code(),
                        absl::StrCat(log_.who(), " could not be started: ",
                                     PrintMessage(start_error_)));
  }
  if (state_ == State::kNew) {
    return absl::FailedPreconditionError(
        absl::StrCat(log_.who(), " has not been started"));
  }
  if (stopping_.HasBeenNotified()) {
    return absl::CancelledError(absl::StrCat(log_.who(), " has been stopped"));
  }
  if (state_ == State::kStarting) {
    const std::string awaited = AwaitedSources();
    return absl::UnavailableError(absl::StrCat(
        log_.who(), " is starting", awaited.empty() ? "" : "; not in sync: ",
        Printable(awaited, kPrintedErrorBytes)));
  }
  if (running_workers_ < num_workers_) {
    return absl::UnavailableError(
        absl::StrCat(log_.who(), " has lost workers: its queue has ended"));
  }
  absl::Status status;
  std::vector<std::string> reasons;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const SourceState& state = source_states_[i];
    if (state.error.ok()) continue;
    status.Update(state.error);
    const absl::string_view next =
        state.running && state.reported ? "goes on"
        : state.running ? "has been restarted, and is not in sync yet"
        : sources_[i].restart_backoff.has_value() ? "is being restarted"
                                                  : "has ended";
    reasons.push_back(
        absl::StrCat(PrintMessage(state.error), " (it ", next, ")"));
  }
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(log_.who(), ": ", absl::StrJoin(reasons, "; ")));
}

bool Lifecycle::Sleep(absl::Duration d) {
  Wait(d, stopping_);
  return !stopping_.HasBeenNotified();
}

void Lifecycle::AwaitRetry(const absl::Notification& over) {
  Wait(RetryDelay(), over);
}

void Lifecycle::Wait(absl::Duration d, const absl::Notification& over) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&over, &absl::Notification::HasBeenNotified),
      clock_->TimeNow() + d);
}

bool Lifecycle::IsKnownIdle(absl::Time until) {
  // A queue in memory knows at once, and an engine that answers nearly so.
  constexpr absl::Duration kAtLeast = absl::Milliseconds(100);
  bool known_idle = false;
  TryCall([&] {
    const absl::StatusOr<bool> idle =
        Idle(std::max(until - clock_->TimeNow(), kAtLeast));
    known_idle = idle.ok() && *idle;
  });
  return known_idle;
}

void Lifecycle::AwaitIdle() {
  ++idle_waiters_;
  absl::Cleanup leave = [this] { --idle_waiters_; };
  MutexLock lock(&mu_);
  const auto abandoned = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return abandoning_.HasBeenNotified() && running_workers_ == 0;
  };
  constexpr absl::Duration kUntilAskedAgain = absl::Milliseconds(10);
  // No signal is lost: a worker that finishes an item after `Idle()` has looked
  // at the queue sees idle_waiters_, and takes mu_ before it signals.
  while (!abandoned()) {
    const absl::StatusOr<bool> idle = Idle(absl::InfiniteDuration());
    if (!idle.ok()) {
      clock_->AwaitWithDeadline(&mu_, absl::Condition(&abandoned),
                                clock_->TimeNow() + kUntilAskedAgain);
    } else if (*idle) {
      return;
    } else {
      item_done_.Wait(&mu_);
    }
  }
}

void Lifecycle::OnItemDone() {
  if (idle_waiters_ == 0) return;
  MutexLock lock(&mu_);
  item_done_.SignalAll();
}

void Lifecycle::OnWorkersEnded() {
  MutexLock lock(&mu_);
  running_workers_ = 0;
  item_done_.SignalAll();
}

bool Lifecycle::AwaitTerm(absl::FunctionRef<bool()> stands_by) {
  // A wake after the last call of `stands_by()` is not among these.
  std::optional<int64_t> seen;
  while (stands_by()) {
    MutexLock lock(&mu_);
    if (seen.has_value()) {
      const auto over = [this, &seen]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return wakes_ != *seen || stopping_.HasBeenNotified();
      };
      mu_.Await(absl::Condition(&over));
    }
    if (stopping_.HasBeenNotified()) return false;
    seen = wakes_;
  }
  return true;
}

void Lifecycle::WakeWorkers() {
  MutexLock lock(&mu_);
  ++wakes_;
}

}  // namespace workqueue::internal
