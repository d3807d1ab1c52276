// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/leader_election/leader_elector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/process_id.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/metrics.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/redis/unique_text.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

using internal::Election;
using internal::LeaderLease;
using internal::MutexLock;

namespace {

// client-go's name, and its check. client-go's own pauses are up to 2.2 times
// `retry_period`.
constexpr double kJitterFactor = 1.2;

// Calls of the server are timed on this clock.
Clock* MachineClock() { return Clock::GetRealClock(); }

std::string DefaultIdentity() {
  return absl::StrCat(internal::HostName(), "-", internal::ProcessId(), "-",
                      internal::NewUniqueText());
}

absl::Status CheckDurations(const LeaderElectorOptions& options) {
  absl::Status status =
      internal::CheckFiniteAndPositive("retry_period", options.retry_period);
  status.Update(internal::CheckFiniteAndPositive("renew_deadline",
                                                 options.renew_deadline));
  status.Update(internal::CheckFiniteAndPositive("lease_duration",
                                                 options.lease_duration));
  if (!status.ok()) return status;
  if (options.lease_duration <= options.renew_deadline) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lease_duration is ", absl::FormatDuration(options.lease_duration),
        "; it must be more than renew_deadline, which is ",
        absl::FormatDuration(options.renew_deadline)));
  }
  if (options.renew_deadline <= options.retry_period * kJitterFactor) {
    return absl::InvalidArgumentError(absl::StrCat(
        "renew_deadline is ", absl::FormatDuration(options.renew_deadline),
        "; it must be more than ", kJitterFactor,
        " times retry_period, which is ",
        absl::FormatDuration(options.retry_period)));
  }
  if (!LeaderLease::CanLast(options.lease_duration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lease_duration is ", absl::FormatDuration(options.lease_duration),
        "; it must be less than 100 years"));
  }
  return absl::OkStatus();
}

absl::Status Check(const LeaderElectorOptions& options) {
  if (options.name.empty()) {
    return absl::InvalidArgumentError("name is empty; an election needs one");
  }
  if (options.name.find_first_of("{}") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name is \"", options.name, "\"; it must not contain '{' or '}'"));
  }
  return CheckDurations(options);
}

std::unique_ptr<Election> NewElection(const LeaderElectorOptions& options) {
  LeaderLease::Options lease;
  lease.name = options.name;
  lease.identity = options.identity;
  lease.duration = options.lease_duration;
  lease.timeout = options.retry_period;
  if (options.engine != nullptr) return options.engine->NewElection(lease);
  lease.redis = options.redis;
  if (options.clock_is_the_servers) lease.clock = OrRealClock(options.clock);
  return std::make_unique<LeaderLease>(std::move(lease));
}

}  // namespace

bool Leadership::Lost() const {
  MutexLock lock(&elector_.mu_);
  return elector_.HasLost();
}

bool Leadership::Stopping() const {
  MutexLock lock(&elector_.mu_);
  return elector_.HasLost() || elector_.stopping_;
}

bool Leadership::Sleep(absl::Duration d) const {
  Clock* const clock = elector_.clock_;
  MutexLock lock(&elector_.mu_);
  const absl::Time end = clock->TimeNow() + d;
  while (true) {
    if (elector_.HasLost() || elector_.stopping_) return false;
    if (clock->TimeNow() >= end) return true;
    // Renewals postpone the deadline.
    clock->AwaitWithDeadline(
        &elector_.mu_,
        absl::Condition(&elector_, &LeaderElector::LostOrStopping),
        std::min(end, elector_.deadline_));
  }
}

absl::StatusOr<std::unique_ptr<LeaderElector>> LeaderElector::Create(
    LeaderElectorOptions options) {
  absl::Status status = Check(options);
  if (!status.ok()) return status;
  const auto source = internal::TakeSource(
      options.engine, options.address, &options.redis, options.retry_period);
  if (!source.ok()) return source.status();
  if (*source != nullptr) options.engine = source->get();
  status = internal::CheckOneStore(options.engine != nullptr, options.redis);
  if (!status.ok()) return status;
  auto redis = internal::PlainRedisOptions(std::move(options.redis));
  if (!redis.ok()) return redis.status();
  options.redis = *std::move(redis);
  if (options.engine == nullptr && options.clock_is_the_servers) {
    status = internal::CheckServersClock(OrRealClock(options.clock));
    if (!status.ok()) return status;
  }
  if (options.identity.empty()) options.identity = DefaultIdentity();
  std::unique_ptr<SettableGaugeMetric> metric;
  status = internal::CatchAsStatus([&] {
    if (options.metrics_provider == nullptr) return absl::OkStatus();
    metric = options.metrics_provider->NewLeaderMetric(options.name);
    if (metric != nullptr) metric->Set(0);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  std::unique_ptr<Election> election = NewElection(options);
  return absl::WrapUnique(new LeaderElector(
      std::move(options), std::move(metric), std::move(election)));
}

LeaderElector::LeaderElector(LeaderElectorOptions options,
                             std::unique_ptr<SettableGaugeMetric> metric,
                             std::unique_ptr<Election> election)
    : options_(std::move(options)),
      clock_(OrRealClock(options_.clock)),
      log_("leader elector", options_.name, options_.log_sink),
      errors_("leader elector", options_.name, options_.log_sink, clock_),
      outage_("leader elector", options_.name, options_.log_sink, clock_,
              "a request failed", "requests succeed again"),
      metric_(std::move(metric)),
      random_(sync::RandomSeed()),
      election_(std::move(election)) {}

LeaderElector::~LeaderElector() { Stop(); }

absl::Status LeaderElector::Start() {
  {
    MutexLock lock(&mu_);
    if (started_ || stopping_) {
      return absl::FailedPreconditionError(
          absl::StrCat(log_.who(), ": has been ",
                       stopping_ ? "stopped" : "started", " before"));
    }
    parker_ = clock_->NewParker(Parker::Role::kLoop);
    started_ = true;
    started_at_ = clock_->TimeNow();
  }
  MutexLock threads_lock(&threads_mu_);
  absl::Status status = election_->Listen(
      [this] { WakeToTry(); },
      [this](const absl::Status& why) {
        errors_.Write([] { return "cannot hear of releases"; }, why);
      });
  // The last one begins terms, which need the other.
  if (status.ok()) {
    status =
        threads_.Start(2, [this](size_t i) { i == 0 ? CallBack() : Elect(); });
  }
  if (status.ok()) return status;
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    ended_ = true;
    parker_.reset();
  }
  election_->StopListening();
  threads_.Join();
  return status;
}

void LeaderElector::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    LimitRequests();
    Wake();
  }
  if (RunsThisThread()) return;
  MutexLock threads_lock(&threads_mu_);
  AwaitEnd();
  threads_.Join();
}

void LeaderElector::AwaitEnd() {
  {
    MutexLock lock(&mu_);
    if (!started_) return;
    mu_.Await(absl::Condition(this, &LeaderElector::LimitedOrEnded));
    if (MachineClock()->AwaitWithDeadline(&mu_, absl::Condition(&ended_),
                                          requests_end_)) {
      return;
    }
  }
  election_->Interrupt();
}

void LeaderElector::LimitRequests() {
  if (!stopping_ || term_ == Term::kLed) return;
  const absl::Duration time =
      error_.ok() ? absl::Seconds(1) : absl::Milliseconds(100);
  requests_end_ = std::min(requests_end_, MachineClock()->TimeNow() + time);
}

absl::Duration LeaderElector::TimeForRequests() const {
  MutexLock lock(&mu_);
  return requests_end_ - MachineClock()->TimeNow();
}

bool LeaderElector::RunsThisThread() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return threads_.RunsThisThread();
}

bool LeaderElector::IsLeader() const {
  MutexLock lock(&mu_);
  return Leads();
}

std::string LeaderElector::Leader() const {
  MutexLock lock(&mu_);
  return leader_;
}

int64_t LeaderElector::token() const {
  MutexLock lock(&mu_);
  return Leads() ? token_ : 0;
}

absl::Status LeaderElector::Healthy() const {
  MutexLock lock(&mu_);
  if (!started_ && !stopping_) {
    return absl::FailedPreconditionError(
        absl::StrCat(log_.who(), " has not been started"));
  }
  if (stopping_) {
    return absl::CancelledError(absl::StrCat(log_.who(), " has been stopped"));
  }
  if (ended_ && failure_.ok()) {
    return absl::CancelledError(
        absl::StrCat(log_.who(), " has ended after its term"));
  }
  if (ended_ || error_.ok()) return failure_;
  const absl::Duration ago =
      clock_->TimeNow() - succeeded_at_.value_or(started_at_);
  return absl::Status(
      error_.code(),
      absl::StrCat(log_.who(), ": no request has succeeded for ",
                   internal::InSeconds(ago),
                   succeeded_at_.has_value() ? ": " : ", since the start: ",
                   error_.message()));
}

int64_t LeaderElector::AddListener(std::function<void()> changed) {
  internal::DieIfNull(changed, "function of AddListener()");
  MutexLock lock(&listeners_mu_);
  listeners_.emplace(++last_listener_, std::move(changed));
  return last_listener_;
}

void LeaderElector::RemoveListener(int64_t id) {
  MutexLock lock(&listeners_mu_);
  listeners_.erase(id);
}

bool LeaderElector::Tell() {
  const bool leads = IsLeader();
  if (metric_ != nullptr) {
    internal::TryCall([&] { metric_->Set(leads ? 1 : 0); });
  }
  MutexLock lock(&listeners_mu_);
  for (const auto& [id, changed] : listeners_) changed();
  return leads;
}

void LeaderElector::Elect() {
  internal::NameThisThread(options_.name, "elect");
  Parker* parker;
  {
    MutexLock lock(&mu_);
    parker = parker_.get();
  }
  // Tells a simulated clock which thread this is; see `Parker::Role::kLoop`.
  parker->ParkUntil(absl::InfinitePast());
  absl::Time next = absl::InfinitePast();
  absl::Time pause_until = absl::InfinitePast();
  while (true) {
    const bool told = Tell();
    Term term;
    bool leads;
    bool due;
    absl::Time wake;
    {
      MutexLock lock(&mu_);
      term = term_;
      if (term == Term::kNone && stopping_) break;
      leads = Leads();
      if (leads != told) continue;  // The term has just ended.
      // A leader renews in its own time.
      const bool try_now = std::exchange(try_now_, false) && !leads;
      const absl::Time now = clock_->TimeNow();
      due = now >= (try_now ? pause_until : next);
      wake = leads ? std::min(next, deadline_) : next;
    }
    if (term == Term::kOver) {
      const bool failed = EndTerm();
      if (!options_.run_again) break;
      next = absl::InfinitePast();
      if (failed) {
        // The others come first.
        Release();
        next = clock_->TimeNow() + Jittered(options_.retry_period);
        pause_until = next;
      }
    } else if (!due) {
      parker->ParkUntil(wake);
    } else if (term == Term::kNone) {
      next = TryToLead();
    } else {
      next = leads ? Renew() : Look();
    }
  }
  Release();
  election_->StopListening();
  {
    MutexLock lock(&mu_);
    ended_ = true;
  }
  Tell();
  MutexLock lock(&mu_);
  // From here on, a simulated clock does not wait for this thread.
  parker_.reset();
}

absl::Time LeaderElector::TryToLead() {
  // Before the request: it counts from then.
  const absl::Time sent = clock_->TimeNow();
  const absl::StatusOr<Election::State> state =
      internal::CatchAsStatus([this] { return election_->Take(); });
  Observe(state);
  const absl::Time retry = sent + Jittered(options_.retry_period);
  if (!state.ok()) return retry;
  held_ = state->done ? state->token : 0;
  if (!state->done) {
    return std::min(retry, clock_->TimeNow() + state->remaining);
  }
  if (BeginTerm(state->token, sent + options_.renew_deadline)) {
    return sent + options_.retry_period;
  }
  Release();
  return retry;
}

absl::Time LeaderElector::Renew() {
  int64_t token;
  absl::Time deadline;
  {
    MutexLock lock(&mu_);
    token = token_;
    deadline = deadline_;
  }
  const absl::Time sent = clock_->TimeNow();  // before the request, again
  const absl::StatusOr<Election::State> state = internal::CatchAsStatus(
      [&] { return election_->Renew(token, deadline - sent); });
  if (state.ok()) {
    MutexLock lock(&mu_);
    if (!state->done) {
      Lose(state->holder.empty() ? "the lease is not known any more"
                                 : "another process has the lease");
    } else if (!HasLost()) {
      deadline_ = sent + options_.renew_deadline;
    }
  }
  Observe(state);
  return sent + options_.retry_period;
}

absl::Time LeaderElector::Look() {
  const absl::Time sent = clock_->TimeNow();
  Observe(internal::CatchAsStatus([this] { return election_->Look(); }));
  return sent + Jittered(options_.retry_period);
}

void LeaderElector::Release() {
  const int64_t token = std::exchange(held_, 0);
  if (token == 0 || !options_.release_on_stop) return;
  const absl::StatusOr<Election::State> state = internal::CatchAsStatus(
      [&] { return election_->Release(token, TimeForRequests()); });
  Observe(state);
}

void LeaderElector::Observe(const absl::StatusOr<Election::State>& state) {
  // Without memory for the name, the next request tells it.
  std::string leader, holder;
  const absl::Status status = internal::CatchAsStatus([&] {
    if (state.ok()) leader = holder = state->holder;
    return state.status();
  });
  {
    MutexLock lock(&mu_);
    error_ = status;
    if (status.ok()) {
      leader_ = std::move(leader);
      succeeded_at_ = clock_->TimeNow();
    }
  }
  if (!status.ok()) {
    outage_.Lasts(status);
    return;
  }
  outage_.Over();
  if (holder.empty() || holder == reported_) return;
  reported_ = std::move(holder);
  if (!options_.on_new_leader) return;
  errors_.Try([] { return "on_new_leader"; },
              [this] { options_.on_new_leader(reported_); });
}

bool LeaderElector::BeginTerm(int64_t token, absl::Time deadline) {
  MutexLock lock(&mu_);
  if (stopping_ || clock_->TimeNow() >= deadline) return false;
  term_ = Term::kLed;
  token_ = token;
  deadline_ = deadline;
  lost_ = false;
  failure_ = absl::OkStatus();
  log_.Info([&] { return absl::StrCat("leads, with token ", token); });
  return true;
}

bool LeaderElector::EndTerm() {
  MutexLock lock(&mu_);
  log_.Info([token = token_] {
    return absl::StrCat("ended the term with token ", token);
  });
  term_ = Term::kNone;
  return !failure_.ok();
}

void LeaderElector::CallBack() {
  internal::NameThisThread(options_.name, "leader");
  while (true) {
    int64_t token;
    {
      MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &LeaderElector::MustCallBack));
      if (term_ != Term::kLed) return;
      token = token_;
    }
    const Leadership leadership(this, token);
    if (options_.on_started_leading) {
      const absl::Status status = internal::CatchAsStatus(
          [&] { options_.on_started_leading(leadership); });
      if (!status.ok()) Fail(status);
    }
    leadership.WaitUntilStopping();
    if (options_.on_stopped_leading) {
      errors_.Try([] { return "on_stopped_leading"; },
                  [this] { options_.on_stopped_leading(); });
    }
    MutexLock lock(&mu_);
    term_ = Term::kOver;
    LimitRequests();
    Wake();
  }
}

void LeaderElector::Fail(const absl::Status& status) {
  errors_.Write([] { return "on_started_leading"; }, status);
  MutexLock lock(&mu_);
  failure_ = absl::Status(
      status.code(), absl::StrCat("on_started_leading: ", status.message()));
  Lose("on_started_leading has failed");
  Wake();
}

void LeaderElector::Wake() {
  if (parker_ != nullptr) parker_->Unpark();
}

void LeaderElector::WakeToTry() {
  MutexLock lock(&mu_);
  try_now_ = true;
  Wake();
}

void LeaderElector::Lose(absl::string_view why) const {
  if (lost_) return;
  lost_ = true;
  log_.Error([why, token = token_] {
    return absl::StrCat("no longer leads, with token ", token, ": ", why);
  });
}

bool LeaderElector::HasLost() const {
  if (!lost_ && clock_->TimeNow() >= deadline_) {
    Lose("the lease could not be renewed within renew_deadline");
  }
  return lost_;
}

bool LeaderElector::Leads() const { return term_ == Term::kLed && !HasLost(); }

bool LeaderElector::MustCallBack() const {
  return term_ == Term::kLed || (ended_ && term_ == Term::kNone);
}

bool LeaderElector::LostOrStopping() const { return lost_ || stopping_; }

bool LeaderElector::LimitedOrEnded() const {
  return ended_ || requests_end_ != absl::InfiniteFuture();
}

absl::Duration LeaderElector::Jittered(absl::Duration period) {
  return period *
         std::uniform_real_distribution<double>(1, kJitterFactor)(random_);
}

}  // namespace workqueue
