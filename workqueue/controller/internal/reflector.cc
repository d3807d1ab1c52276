// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/reflector.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/source.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// client-go calls a watch without an event "very short" if it is shorter.
constexpr absl::Duration kShortestWatch = absl::Seconds(1);

// The QPS and Burst of client-go's rest.Config.
constexpr double kRewatchesPerSecond = 5;
constexpr int kRewatchesAtOnce = 10;

}  // namespace

Reflector::Reflector(absl::string_view name, Clock* clock, LogSink* log_sink,
                     const RestartBackoff& backoff,
                     std::unique_ptr<Jitter> jitter)
    : name_(name),
      clock_(clock),
      errors_("informer", name, log_sink, clock),
      backoff_(backoff),
      jitter_(std::move(jitter)),
      health_(absl::UnavailableError("no list has been read yet")),
      rewatches_(
          *TokenBucket::Create(kRewatchesPerSecond, kRewatchesAtOnce, clock)) {}

absl::Status Reflector::Start() {
  MutexLock lock(&thread_mu_);
  if (stopping_.HasBeenNotified()) {
    return absl::FailedPreconditionError(
        absl::StrCat(errors_.who(), " has been stopped"));
  }
  if (thread_.size() > 0) return absl::OkStatus();
  return thread_.Start(1, [this](size_t) { Run(); });
}

void Reflector::Stop() {
  MutexLock lock(&thread_mu_);
  {
    MutexLock state_lock(&mu_);
    if (!stopping_.HasBeenNotified()) stopping_.Notify();
  }
  errors_.Try([] { return "stopping"; }, [this] { Interrupt(); });
  thread_.Join();
  // The thread takes mu_. It is not started any more.
  const auto join = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    telling_thread_.Join();
  };
  join();
}

bool Reflector::HasSynced() const {
  MutexLock lock(&mu_);
  return synced_;
}

bool Reflector::AwaitSync(absl::Duration timeout) const {
  MutexLock lock(&mu_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return synced_ || stopping_.HasBeenNotified();
  };
  clock_->AwaitWithDeadline(&mu_, absl::Condition(&over),
                            clock_->TimeNow() + timeout);
  return synced_;
}

absl::Status Reflector::Healthy() const {
  MutexLock lock(&mu_);
  if (stopping_.HasBeenNotified()) {
    return absl::CancelledError(
        absl::StrCat(errors_.who(), " has been stopped"));
  }
  return health_;
}

void Reflector::TellAgainLater() {
  absl::Status started;
  {
    MutexLock lock(&mu_);
    must_tell_again_ = true;
    if (stopping_.HasBeenNotified() || telling_thread_.size() > 0) return;
    started = telling_thread_.Start(1, [this](size_t) { RunTellAgain(); });
  }
  if (started.ok()) return;
  errors_.Write([] { return "starting the thread that calls handlers again"; },
                started);
}

void Reflector::RunTellAgain() {
  NameThisThread(name_, "informer");
  while (true) {
    {
      MutexLock lock(&mu_);
      const auto awaited = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return must_tell_again_ || stopping_.HasBeenNotified();
      };
      mu_.Await(absl::Condition(&awaited));
      must_tell_again_ = false;
    }
    Sleep(RetryDelay());
    if (stopping_.HasBeenNotified()) return;
    TellAgain();
  }
}

void Reflector::Run() {
  NameThisThread(name_, "informer");
  while (!stopping_.HasBeenNotified()) {
    const absl::Status error = CatchAsStatus([this] { return ListAndWatch(); });
    if (stopping_.HasBeenNotified()) break;
    const absl::Duration delay =
        jitter_->Vary(delays_.Next(backoff_, clock_->TimeNow()));
    Report(error, absl::StrCat("tries again in ", absl::FormatDuration(delay)));
    Sleep(delay);
  }
  OnHealth();
}

absl::Status Reflector::ListAndWatch() {
  if (must_list_) {
    const absl::Status listed = List(&version_);
    if (absl::IsOutOfRange(listed)) version_.clear();
    if (!listed.ok()) return listed;
    must_list_ = false;
    MutexLock lock(&mu_);
    synced_ = true;
  }
  while (true) {
    const absl::Status ended = Watch();
    if (!ended.ok()) {
      must_list_ = MustList(ended);
      return ended;
    }
    Sleep(rewatches_->Reserve().Delay());
  }
}

absl::Status Reflector::Watch() {
  const absl::Status began = BeginWatch(version_);
  if (!began.ok()) return began;
  SetHealth(absl::OkStatus());
  const absl::Time begin = clock_->TimeNow();
  delays_.SetHealthy(true, begin);
  const std::string begin_version = version_;
  absl::StatusOr<std::optional<std::string>> version;
  while (true) {
    version = Next();
    if (!version.ok() || !version->has_value()) break;
    version_ = **std::move(version);
  }
  const absl::Time end = clock_->TimeNow();
  delays_.SetHealthy(false, end);
  if (stopping_.HasBeenNotified()) return absl::CancelledError("stopped");
  if (MustList(version.status())) return version.status();
  if (version_ != begin_version || end - begin >= kShortestWatch) {
    if (!version.ok()) Report(version.status(), "watches again");
    return absl::OkStatus();
  }
  if (!version.ok()) return version.status();
  return absl::UnavailableError(absl::StrCat(
      "the watch has ended within ", absl::FormatDuration(kShortestWatch),
      " and without a new version"));
}

bool Reflector::MustList(const absl::Status& error) {
  return absl::IsOutOfRange(error) || absl::IsDataLoss(error);
}

void Reflector::Report(const absl::Status& error, absl::string_view next) {
  errors_.Write([&error, next] {
    return absl::StrCat(Printable(StatusText(error), kPrintedErrorBytes), " (",
                        next, ")");
  });
  SetHealth(error);
}

void Reflector::SetHealth(const absl::Status& status) {
  {
    MutexLock lock(&mu_);
    health_ = status;
  }
  OnHealth();
}

void Reflector::Sleep(absl::Duration d) {
  MutexLock lock(&mu_);
  clock_->AwaitWithDeadline(
      &mu_, absl::Condition(&stopping_, &sync::Notification::HasBeenNotified),
      clock_->TimeNow() + d);
}

}  // namespace workqueue::internal
