// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// The start and the stop of a controller, its sources and its workers' threads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
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
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/internal/async_workers.h"
#include "workqueue/controller/internal/controller_core.h"
#include "workqueue/controller/source.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

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

// Returns `status` with "`what`: " put before its message. Returns an OK status
// unchanged.
absl::Status Named(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return WithMessage(absl::StrCat(what, ": ", status.message()), status);
}

// Returns what messages call a source.
std::string WhatIs(absl::string_view name) {
  return name.empty() ? "a source" : absl::StrCat("source ", name);
}

absl::Status AnnotateWithSource(absl::string_view name,
                                const absl::Status& status) {
  return status.ok() ? status : Named(WhatIs(name), status);
}

absl::Status WithPrintableMessage(const absl::Status& status) {
  return WithMessage(PrintMessage(status), status);
}

absl::Status NoLoopError() {
  return absl::FailedPreconditionError(
      "clock is not a WaitingLoop, whose thread would call the callback");
}

// Calls `f()`, a function of `source`, and returns its status. Turns an
// exception into an error. The message of an error names the source.
template <typename F>
absl::Status Call(const UntypedSource& source, F f) {
  // The outer call catches an exception from the annotation, which allocates.
  return CatchAsStatus(
      [&] { return AnnotateWithSource(source.name, CatchAsStatus(f)); });
}

}  // namespace

void ControllerCore::SetSources(std::vector<UntypedSource> sources) {
  sources_ = std::move(sources);
  MutexLock lock(&mu_);
  source_states_ = std::vector<SourceState>(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i].wait_for_sync) continue;
    source_states_[i].awaited = true;
    source_states_[i].marks_sync = true;
    ++awaited_sources_;
  }
  if (loop_ != nullptr) loop_->Add(this);
}

absl::Status ControllerCore::Start() {
  if (IsOnLoop()) {
    MutexLock lock(&mu_);
    if (awaited_sources_ > 0) return WouldBlockLoopError();
  }
  if (absl::Status begun = BeginStart(); !begun.ok()) return begun;
  // Turns std::bad_alloc into a status.
  return EndStart(CatchAsStatus([this] {
    const absl::Status started = StartSources();
    return started.ok() ? AwaitSync() : started;
  }));
}

absl::Status ControllerCore::StartAsync(StartedCallback started) {
  if (started == nullptr) return absl::InvalidArgumentError("started is null");
  if (loop_ == nullptr) return NoLoopError();
  if (absl::Status begun = BeginStart(); !begun.ok()) return begun;
  const absl::Time now = clock_->TimeNow();
  const absl::Status sources = CatchAsStatus([this] { return StartSources(); });
  MutexLock lock(&mu_);
  source_status_.Update(sources);
  started_ = std::move(started);
  sync_until_ = sources.ok() ? now + sync_timeout_ : absl::InfinitePast();
  WakeLoop();
  return absl::OkStatus();
}

absl::Status ControllerCore::BeginStart() {
  {
    MutexLock lock(&mu_);
    if (state_ != State::kNew || stopping_.HasBeenNotified()) {
      return absl::FailedPreconditionError(absl::StrCat(
          log_.who(), stopping_.HasBeenNotified()
                          ? " has been stopped, and cannot be started again"
                          : " has been started already"));
    }
    state_ = State::kStarting;
  }
  log_.Info([] { return "starting"; });
  return absl::OkStatus();
}

absl::Status ControllerCore::EndStart(absl::Status status) {
  {
    MutexLock lock(&mu_);
    // With the lock, so that no stop can begin between the checks in
    // StartWorkers() and the start of the workers.
    status = CatchAsStatus([this, &status]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return StartWorkers(status);
    });
    state_ = status.ok() ? State::kRunning : State::kNotRunning;
    start_error_ = status;
    WakeLoop();
  }
  // Without the lock, because a worker may run on this thread.
  if (status.ok() && async_workers_ != nullptr) async_workers_->Start();
  if (!status.ok()) {
    log_.Error(
        [&status] { return absl::StrCat("not started: ", Print(status)); });
    StopNow();
  }
  return CatchAsStatus([&status] { return WithPrintableMessage(status); });
}

absl::Status ControllerCore::StartSources() {
  std::vector<size_t> with_thread;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].run != nullptr) with_thread.push_back(i);
  }
  const size_t threads = with_thread.size();
  const std::function<void(size_t)> run =
      [this, with_thread = std::move(with_thread)](size_t i) {
        RunSource(with_thread[i]);
      };
  {
    // From here on nothing throws, so that the number is right.
    MutexLock lock(&mu_);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].run != nullptr) continue;
      source_states_[i].begin_at = absl::InfinitePast();
    }
    running_sources_ = sources_.size();
    WakeLoop();
  }
  const absl::Status status = source_pool_.Start(threads, run);
  MutexLock lock(&mu_);
  running_sources_ -= threads - source_pool_.size();
  return Named("sources", status);
}

absl::Status ControllerCore::AwaitSync() {
  const absl::Time deadline = clock_->TimeNow() + sync_timeout_;
  MutexLock lock(&mu_);
  const auto over = [this]()
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return Synced(); };
  return clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), deadline)
             ? absl::OkStatus()
             : NotSynced();
}

absl::Status ControllerCore::NotSynced() const {
  return absl::DeadlineExceededError(
      absl::StrCat("not in sync within ", absl::FormatDuration(sync_timeout_),
                   ": ", AwaitedSources()));
}

absl::Time ControllerCore::Run(absl::Time now) {
  absl::Time next = NextSourceRun(now);
  std::optional<absl::Status> synced;
  StartedCallback started;
  std::list<StopCall> stops, over;
  {
    MutexLock lock(&mu_);
    if (started_ != nullptr) {
      if (Synced()) {
        synced = absl::OkStatus();
      } else if (now >= sync_until_) {
        synced = CatchAsStatus(
            [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return NotSynced(); });
      } else {
        next = std::min(next, sync_until_);
      }
      if (synced.has_value()) started = std::exchange(started_, nullptr);
    }
    stops.swap(stops_);
  }
  const absl::Status status =
      synced.has_value() ? EndStart(*synced) : absl::OkStatus();
  for (auto it = stops.begin(); it != stops.end();) {
    const auto call = it++;
    if (Advance(&*call)) {
      over.splice(over.end(), stops, call);
    } else {
      next = std::min(next, call->deadline());
    }
  }
  {
    MutexLock lock(&mu_);
    stops_.splice(stops_.end(), stops);
  }
  // A callback may destroy this object.
  if (synced.has_value()) TryCall([&] { std::move(started)(status); });
  for (StopCall& call : over) {
    TryCall([&] { std::move(call.callback)(call.stopped); });
  }
  return next;
}

absl::Time ControllerCore::NextSourceRun(absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  for (size_t i = 0; i < sources_.size(); ++i) {
    {
      MutexLock lock(&mu_);
      absl::Time& begin_at = source_states_[i].begin_at;
      if (begin_at > now) {
        next = std::min(next, begin_at);
        continue;
      }
      begin_at = absl::InfiniteFuture();
      if (stopping_.HasBeenNotified()) {
        EndSource();
        continue;
      }
    }
    BeginAsyncRun(i);
  }
  return next;
}

absl::Status ControllerCore::StartWorkers(const absl::Status& sources_started) {
  // source_status_ has no error of a source that failed after the stop began.
  if (!source_status_.ok()) return source_status_;
  if (stopping_.HasBeenNotified()) {
    return absl::CancelledError("stopped before it was started");
  }
  if (!sources_started.ok()) return sources_started;
  log_.Info(
      [this] { return absl::StrCat("starting workers: ", num_workers_); });
  if (async_workers_ != nullptr) {
    running_workers_ = num_workers_;
    return absl::OkStatus();
  }
  const absl::Status status =
      worker_pool_.Start(num_workers_, [this](size_t) { RunWorker(); });
  // The count is in time: a worker that ends must take mu_ first.
  running_workers_ = worker_pool_.size();
  return Named("workers", status);
}

void ControllerCore::MarkSynced(size_t i) {
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  if (std::exchange(state.awaited, false)) {
    --awaited_sources_;
    WakeLoop();
  }
  state.marks_sync = true;
  if (!state.running) return;
  state.delays.SetHealthy(true, clock_->TimeNow());
  SetError(absl::OkStatus(), &state);
}

void ControllerCore::MarkUnhealthy(size_t i, const absl::Status& error) {
  const absl::Status named = AnnotateWithSource(sources_[i].name, error);
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  if (!state.running || stopping_.HasBeenNotified()) return;
  state.reported = true;
  state.delays.SetHealthy(false, clock_->TimeNow());
  SetError(named, &state);
}

void ControllerCore::SetError(const absl::Status& error, SourceState* state) {
  const bool healthy = error.ok();
  const bool changes = state->error.ok() != healthy;
  state->error = error;
  if (!changes) return;
  const MutexUnlock unlock(&mu_);
  RecordSourceHealth(healthy);
}

std::string ControllerCore::AwaitedSources() const {
  std::vector<std::string> awaited;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const SourceState& state = source_states_[i];
    if (!state.awaited) continue;
    const std::string& name = sources_[i].name;
    awaited.push_back(name.empty() ? WhatIs(name) : name);
    if (state.error.ok()) continue;
    absl::StrAppend(&awaited.back(), " (", state.error.message(), ")");
  }
  return absl::StrJoin(awaited, ", ");
}

void ControllerCore::RunSource(size_t i) {
  const UntypedSource& source = sources_[i];
  NameThisThread(source.name.empty() ? name_ : source.name, "source");
  std::optional<absl::Duration> delay;
  do {
    OnRunBegins(i);
    delay = OnRunEnds(i, Call(source, [this, &source, i] {
                        return source.run([this, i] { MarkSynced(i); },
                                          [this, i](const absl::Status& error) {
                                            MarkUnhealthy(i, error);
                                          });
                      }));
  } while (delay.has_value() && Sleep(*delay));
  MutexLock lock(&mu_);
  EndSource();
}

void ControllerCore::BeginAsyncRun(size_t i) {
  const UntypedSource& source = sources_[i];
  OnRunBegins(i);
  // What the source calls more than once or too late does nothing.
  const auto ended = std::make_shared<sync::Atomic<bool>>(false);
  const SourceDone done = [this, i, ended,
                           gate = gate_](const absl::Status& status) {
    const Gate::Pass pass(gate.get());
    if (!pass || ended->exchange(true)) return;
    EndAsyncRun(i, CatchAsStatus([&] {
                  return AnnotateWithSource(sources_[i].name, status);
                }));
  };
  const auto mark_synced = [this, i, gate = gate_] {
    if (const Gate::Pass pass(gate.get()); pass) MarkSynced(i);
  };
  const auto mark_unhealthy = [this, i,
                               gate = gate_](const absl::Status& error) {
    if (const Gate::Pass pass(gate.get()); pass) MarkUnhealthy(i, error);
  };
  const absl::Status thrown = CatchAsStatus(
      [&] { source.run_async(mark_synced, mark_unhealthy, done); });
  if (!thrown.ok()) done(thrown);
}

void ControllerCore::EndAsyncRun(size_t i, const absl::Status& status) {
  const std::optional<absl::Duration> delay = OnRunEnds(i, status);
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (delay.has_value() && !stopping_.HasBeenNotified()) {
    source_states_[i].begin_at = now + *delay;
    WakeLoop();
  } else {
    EndSource();
  }
}

void ControllerCore::OnRunBegins(size_t i) {
  RecordSourceRuns(true);
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  state.running = true;
  state.reported = false;
  if (state.marks_sync) return;
  state.delays.SetHealthy(true, clock_->TimeNow());
  SetError(absl::OkStatus(), &state);
}

std::optional<absl::Duration> ControllerCore::OnRunEnds(size_t i,
                                                        absl::Status status) {
  const UntypedSource& source = sources_[i];
  RecordSourceRuns(false);
  if (status.ok()) MarkSynced(i);
  {
    MutexLock lock(&mu_);
    source_states_[i].running = false;
    if (stopping_.HasBeenNotified()) return std::nullopt;
    SetError(status, &source_states_[i]);
  }
  if (status.ok()) {
    log_.Info([&source] {
      return absl::StrCat(WhatIs(Printable(source.name)),
                          " has returned OK: it adds no more items");
    });
    return std::nullopt;
  }
  if (!source.restart_backoff.has_value()) {
    source_errors_.Write([&status] { return Print(status); });
    FailStart(status);
    return std::nullopt;
  }
  absl::Duration delay;
  {
    MutexLock lock(&mu_);
    delay = source_states_[i].delays.Next(*source.restart_backoff,
                                          clock_->TimeNow());
  }
  source_errors_.Write([&status, delay] {
    return absl::StrCat(Print(status), " (restarted in ",
                        absl::FormatDuration(delay), ")");
  });
  return delay;
}

void ControllerCore::EndSource() {
  --running_sources_;
  WakeLoop();
}

void ControllerCore::FailStart(const absl::Status& error) {
  {
    MutexLock lock(&mu_);
    if (state_ != State::kStarting || stopping_.HasBeenNotified()) return;
    source_status_.Update(error);
  }
  BeginStop();
}

void ControllerCore::RunWorker() {
  NameThisThread(name_, "worker");
  Work();
  MutexLock lock(&mu_);
  --running_workers_;
  item_done_.SignalAll();
  WakeLoop();
}

void ControllerCore::BeginStop() {
  {
    MutexLock lock(&mu_);
    if (stopping_.HasBeenNotified()) return;
    // Logged before the notification, so that this message precedes the
    // messages that the notification causes.
    log_.Info([] { return "stopping"; });
    stopping_.Notify();
    for (SourceState& state : source_states_) {
      if (state.begin_at == absl::InfiniteFuture()) continue;
      state.begin_at = absl::InfiniteFuture();
      EndSource();
    }
    WakeLoop();
    for (SourceState& state : source_states_) {
      SetError(absl::OkStatus(), &state);
    }
  }
  EndBlockedAdds();
  for (const UntypedSource& source : sources_) {
    if (source.on_stop == nullptr) continue;
    const absl::Status status = Call(source, source.on_stop);
    if (status.ok()) continue;
    source_errors_.Write([&status] { return Print(status); });
  }
}

void ControllerCore::BeginAbandoning() {
  {
    MutexLock lock(&mu_);
    if (!abandoning_.HasBeenNotified()) abandoning_.Notify();
    item_done_.SignalAll();
    WakeLoop();
  }
  if (async_workers_ != nullptr) async_workers_->CancelFlights();
}

bool ControllerCore::Stop(absl::Duration timeout) {
  StopCall call;
  call.until = clock_->TimeNow() + timeout;
  BeginStop();
  if (RunsThisThread()) {
    CloseQueue();
    return false;
  }
  while (!Advance(&call)) {
    if (IsOnLoop()) {
      CloseQueue();
      return false;
    }
    Trampoline::RunDeferred();
    MutexLock lock(&mu_);
    const auto over = [this, &call]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !MustWait(call);
    };
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), call.deadline());
  }
  return call.stopped;
}

absl::Status ControllerCore::StopAsync(absl::Duration timeout,
                                       StoppedCallback stopped) {
  if (stopped == nullptr) return absl::InvalidArgumentError("stopped is null");
  if (loop_ == nullptr) return NoLoopError();
  std::list<StopCall> call(1);
  call.front().until = clock_->TimeNow() + timeout;
  call.front().callback = std::move(stopped);
  BeginStop();
  // The last thing, and with the lock: the callback may destroy this object.
  MutexLock lock(&mu_);
  stops_.splice(stops_.end(), call);
  WakeLoop();
  return absl::OkStatus();
}

void ControllerCore::StopNow() {
  StopCall call;
  call.until = absl::InfinitePast();
  BeginStop();
  Advance(&call);
}

bool ControllerCore::MustWait(const StopCall& call) const {
  switch (call.stage) {
    case StopCall::Stage::kStart:
      return state_ == State::kStarting;
    case StopCall::Stage::kSources:
      return running_sources_ > 0;
    case StopCall::Stage::kWorkers:
      // If the timeout of another call passes first, this call returns, too.
      // But a call that begins after abandoning_ was notified waits for the
      // reconciliations in progress.
      return running_workers_ > 0 &&
             (call.abandoned_before || !abandoning_.HasBeenNotified());
  }
  return false;
}

bool ControllerCore::Advance(StopCall* call) {
  using Stage = StopCall::Stage;
  bool workers_ended = false;
  while (true) {
    const absl::Time now = clock_->TimeNow();
    {
      MutexLock lock(&mu_);
      if (call->stage == Stage::kStart && state_ == State::kNew) {
        state_ = State::kNotRunning;
      }
      if (MustWait(*call) && now < call->deadline()) return false;
      if (call->stage == Stage::kStart) {
        call->stage = Stage::kSources;
        continue;
      }
      if (call->stage == Stage::kWorkers) {
        workers_ended =
            running_workers_ == 0 && (state_ == State::kRunning || shared_);
        break;
      }
      call->sources_returned = running_sources_ == 0;
      // Nobody would reconcile what is queued.
      if (state_ != State::kRunning) call->until = absl::InfinitePast();
    }
    CloseQueue();
    MutexLock lock(&mu_);
    call->abandoned_before = abandoning_.HasBeenNotified();
    call->stage = Stage::kWorkers;
  }
  // Workers without work may not have ended yet, and without workers items may
  // be left in memory. The queue decides these cases.
  const bool done =
      (workers_ended && EndsAreKnown()) || IsKnownIdle(call->until);
  if (!done) BeginAbandoning();
  MutexLock lock(&mu_);
  const bool drained = !abandoning_.HasBeenNotified();
  if (!std::exchange(end_logged_, true)) {
    log_.Info([drained] {
      return drained ? "stopped" : "stopped before all was reconciled";
    });
  }
  call->stopped = call->sources_returned && drained && !HasLostAdds();
  return true;
}

void ControllerCore::End() {
  if (loop_ != nullptr) loop_->Remove(this);
  StartedCallback started;
  {
    MutexLock lock(&mu_);
    started = std::exchange(started_, nullptr);
  }
  if (started != nullptr) {
    BeginStop();
    const absl::Status error = EndStart(absl::OkStatus());
    TryCall([&] { std::move(started)(error); });
  }
  EndStops();
  StopNow();
  BeginAbandoning();  // Wakes workers in AwaitRetry().
  gate_->Close();
  for (size_t i = 0; i < sources_.size(); ++i) {
    bool runs = false;
    {
      MutexLock lock(&mu_);
      runs = sources_[i].run == nullptr && source_states_[i].running;
    }
    if (runs) RecordSourceRuns(false);
  }
  source_pool_.Join();
  worker_pool_.Join();
  if (async_workers_ != nullptr) async_workers_->Close();
  EndStops();  // Nothing runs any more that may have begun one meanwhile.
}

void ControllerCore::EndStops() {
  std::list<StopCall> stops;
  {
    MutexLock lock(&mu_);
    stops.swap(stops_);
  }
  for (StopCall& call : stops) {
    call.until = absl::InfinitePast();
    Advance(&call);
    TryCall([&] { std::move(call.callback)(call.stopped); });
  }
}

absl::Status ControllerCore::Healthy() const {
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

bool ControllerCore::Sleep(absl::Duration d) {
  if (d > absl::ZeroDuration()) DieIfOnDrivenLoop("SourceContext::Sleep()");
  Wait(d, stopping_);
  return !stopping_.HasBeenNotified();
}

void ControllerCore::AwaitRetry(const sync::Notification& over) {
  Wait(RetryDelay(), over);
}

void ControllerCore::Wait(absl::Duration d, const sync::Notification& over) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&over, &sync::Notification::HasBeenNotified),
      clock_->TimeNow() + d);
}

bool ControllerCore::RunsThisThread() const {
  return source_pool_.RunsThisThread() || worker_pool_.RunsThisThread() ||
         (async_workers_ != nullptr && async_workers_->RunsThisThread());
}

bool ControllerCore::IsKnownIdle(absl::Time until) {
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

void ControllerCore::DieIfOnDrivenLoop(absl::string_view call) const {
  if (!IsOnDrivenLoop()) return;
  DieIfWouldBlockLoop(call, WouldBlockLoopError());
}

void ControllerCore::AwaitIdle() {
  DieIfOnDrivenLoop("AwaitIdle()");
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
    absl::StatusOr<bool> idle;
    {
      // An engine may not answer for long, and is asked again in any case.
      std::optional<MutexUnlock> unlock;
      if (shared_) unlock.emplace(&mu_);
      idle = Idle(absl::InfiniteDuration());
    }
    if (idle.ok() && *idle) return;
    if (idle.ok() && !shared_) {
      item_done_.Wait(&mu_);
    } else {
      Clock* const real_clock = Clock::GetRealClock();
      real_clock->AwaitWithDeadline(&mu_, absl::Condition(&abandoned),
                                    real_clock->TimeNow() + kUntilAskedAgain);
    }
  }
}

void ControllerCore::OnItemDone() {
  if (idle_waiters_ == 0) return;
  MutexLock lock(&mu_);
  item_done_.SignalAll();
}

void ControllerCore::OnWorkersEnded() {
  MutexLock lock(&mu_);
  running_workers_ = 0;
  item_done_.SignalAll();
  WakeLoop();
}

bool ControllerCore::AwaitTerm(absl::FunctionRef<bool()> stands_by) {
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

void ControllerCore::LookAtTerm() {
  {
    MutexLock lock(&mu_);
    ++wakes_;
  }
  if (async_workers_ == nullptr) return;
  async_workers_->CancelFlights();
  async_workers_->GoOn();
}

}  // namespace workqueue::internal
