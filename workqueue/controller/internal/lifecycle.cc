// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/lifecycle.h"

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
#include "workqueue/controller/controller_options.h"
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

absl::Status NoLoopError() {
  return absl::FailedPreconditionError(
      "clock is not a WaitingLoop, whose thread would call the callback");
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
  // When the loop begins the next run; infinite if it does not.
  absl::Time begin_at = absl::InfiniteFuture();
  // The source's last error, until the source is healthy again. Its text
  // is as the source wrote it. Start() and Healthy() make it printable.
  absl::Status error;
};

Lifecycle::Lifecycle(const ControllerOptionsBase& options,
                     const GivenOptions& given)
    : name_(options.name),
      clock_(ClockOf(options, given.queue_clock)),
      loop_(options.clock.loop()),
      driven_loop_(options.clock.DrivenLoop()),
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
  if (loop_ != nullptr) loop_->Add(this);
}

absl::Status Lifecycle::Start() {
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

absl::Status Lifecycle::StartAsync(StartedCallback started) {
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

absl::Status Lifecycle::BeginStart() {
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

absl::Status Lifecycle::EndStart(absl::Status status) {
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
  if (status.ok() && async_) StartAsyncWorkers();
  if (!status.ok()) {
    log_.Error(
        [&status] { return absl::StrCat("not started: ", Print(status)); });
    StopNow();
  }
  return CatchAsStatus([&status] { return WithPrintableMessage(status); });
}

absl::Status Lifecycle::StartSources() {
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
  return status;
}

absl::Status Lifecycle::AwaitSync() {
  const absl::Time deadline = clock_->TimeNow() + sync_timeout_;
  MutexLock lock(&mu_);
  const auto over = [this]()
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return Synced(); };
  return clock_->AwaitWithDeadline(&mu_, absl::Condition(&over), deadline)
             ? absl::OkStatus()
             : NotSynced();
}

absl::Status Lifecycle::NotSynced() const {
  return absl::DeadlineExceededError(
      absl::StrCat("not in sync within ", absl::FormatDuration(sync_timeout_),
                   ": ", AwaitedSources()));
}

absl::Time Lifecycle::Run(absl::Time now) {
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

absl::Time Lifecycle::NextSourceRun(absl::Time now) {
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
  if (std::exchange(state.awaited, false)) {
    --awaited_sources_;
    WakeLoop();
  }
  state.marks_sync = true;
  if (!state.running) return;
  state.delays.SetHealthy(true, clock_->TimeNow());
  SetError(absl::OkStatus(), &state);
}

void Lifecycle::MarkUnhealthy(size_t i, const absl::Status& error) {
  const absl::Status named = AnnotateWithSource(sources_[i].name, error);
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  if (!state.running || stopping_.HasBeenNotified()) return;
  state.reported = true;
  state.delays.SetHealthy(false, clock_->TimeNow());
  SetError(named, &state);
}

void Lifecycle::SetError(const absl::Status& error, SourceState* state) {
  const bool healthy = error.ok();
  const bool changes = state->error.ok() != healthy;
  state->error = error;
  if (!changes) return;
  const MutexUnlock unlock(&mu_);
  RecordSourceHealth(healthy);
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

void Lifecycle::RunSource(size_t i) {
  const LifecycleSource& source = sources_[i];
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

void Lifecycle::BeginAsyncRun(size_t i) {
  const LifecycleSource& source = sources_[i];
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

void Lifecycle::EndAsyncRun(size_t i, const absl::Status& status) {
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

void Lifecycle::OnRunBegins(size_t i) {
  RecordSourceStart();
  MutexLock lock(&mu_);
  SourceState& state = source_states_[i];
  state.running = true;
  state.reported = false;
  if (state.marks_sync) return;
  state.delays.SetHealthy(true, clock_->TimeNow());
  SetError(absl::OkStatus(), &state);
}

std::optional<absl::Duration> Lifecycle::OnRunEnds(size_t i,
                                                   absl::Status status) {
  const LifecycleSource& source = sources_[i];
  RecordSourceEnd();
  if (status.ok()) MarkSynced(i);
  {
    MutexLock lock(&mu_);
    source_states_[i].running = false;
    if (stopping_.HasBeenNotified()) return std::nullopt;
    SetError(status, &source_states_[i]);
  }
  if (status.ok()) {
    log_.Info([&source] {
      return absl::StrCat("source ", Printable(source.name),
                          " has returned OK: it adds no more items");
    });
    return std::nullopt;
  }
  if (!source.restart_backoff.has_value()) {
    errors_.Write([&status] { return Print(status); });
    FailStart(status);
    return std::nullopt;
  }
  absl::Duration delay;
  {
    MutexLock lock(&mu_);
    delay = source_states_[i].delays.Next(*source.restart_backoff,
                                          clock_->TimeNow());
  }
  errors_.Write([&status, delay] {
    return absl::StrCat(Print(status), " (restarted in ",
                        absl::FormatDuration(delay), ")");
  });
  return delay;
}

void Lifecycle::EndSource() {
  --running_sources_;
  WakeLoop();
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
  WakeLoop();
}

void Lifecycle::BeginStop() {
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
    WakeLoop();
  }
  if (async_) OnAbandoning();
}

bool Lifecycle::Stop(absl::Duration timeout) {
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

absl::Status Lifecycle::StopAsync(absl::Duration timeout,
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

void Lifecycle::StopNow() {
  StopCall call;
  call.until = absl::InfinitePast();
  BeginStop();
  Advance(&call);
}

bool Lifecycle::MustWait(const StopCall& call) const {
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

bool Lifecycle::Advance(StopCall* call) {
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
        if (state_ != State::kRunning) call->until = absl::InfinitePast();
        call->stage = Stage::kSources;
        continue;
      }
      if (call->stage == Stage::kWorkers) {
        workers_ended = state_ == State::kRunning && running_workers_ == 0;
        break;
      }
      call->sources_returned = running_sources_ == 0;
    }
    CloseQueue();
    MutexLock lock(&mu_);
    call->abandoned_before = abandoning_.HasBeenNotified();
    call->stage = Stage::kWorkers;
  }
  // Workers without work may not have ended yet, and a controller that does not
  // run has no workers. The queue decides these cases.
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

void Lifecycle::Join() {
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
    if (runs) RecordSourceEnd();
  }
  source_pool_.Join();
  worker_pool_.Join();
}

void Lifecycle::EndStops() {
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
  if (d > absl::ZeroDuration()) DieIfOnDrivenLoop("SourceContext::Sleep()");
  Wait(d, stopping_);
  return !stopping_.HasBeenNotified();
}

void Lifecycle::AwaitRetry(const sync::Notification& over) {
  Wait(RetryDelay(), over);
}

void Lifecycle::Wait(absl::Duration d, const sync::Notification& over) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&over, &sync::Notification::HasBeenNotified),
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

void Lifecycle::DieIfOnDrivenLoop(absl::string_view call) const {
  if (!IsOnDrivenLoop()) return;
  DieIfWouldBlockLoop(call, WouldBlockLoopError());
}

void Lifecycle::AwaitIdle() {
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
      if (!HearsOfEnds()) unlock.emplace(&mu_);
      idle = Idle(absl::InfiniteDuration());
    }
    if (idle.ok() && *idle) return;
    if (idle.ok() && HearsOfEnds()) {
      item_done_.Wait(&mu_);
    } else {
      Clock* const real_clock = Clock::GetRealClock();
      real_clock->AwaitWithDeadline(&mu_, absl::Condition(&abandoned),
                                    real_clock->TimeNow() + kUntilAskedAgain);
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
  WakeLoop();
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
