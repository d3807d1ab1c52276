// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_loop.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace workqueue {

using internal::MutexLock;

WaitingLoop::WaitingLoop(Clock* clock, absl::string_view name)
    : name_(name),
      clock_(OrRealClock(clock)),
      driven_(false),
      parker_(clock_->NewParker(Parker::Role::kLoop)),
      wake_([parker = parker_.get()] { parker->Unpark(); }),
      thread_([this, parker = parker_.get()] { Loop(parker); }) {}

WaitingLoop::WaitingLoop(Clock* clock, std::function<void()> wake)
    : clock_(OrRealClock(clock)),
      driven_(true),
      wake_(wake != nullptr ? std::move(wake) : [] {}),
      alarm_(clock_->NewAlarm(wake_)),
      runner_(std::this_thread::get_id()) {}

WaitingLoop::~WaitingLoop() {
  bool is_here;
  {
    MutexLock lock(&mu_);
    if (!turns_.empty()) {
      internal::Fatal(
          absl::StrCat("a waiting loop is destroyed before its clients; left: ",
                       turns_.size()));
    }
    stopping_ = true;
    is_here = destroyed_ != nullptr && runner_ == std::this_thread::get_id();
    if (is_here) *destroyed_ = true;
    if (!driven_ && !is_here) wake_();
  }
  if (!thread_.joinable()) return;
  if (is_here) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void WaitingLoop::Add(Client* client) {
  MutexLock lock(&mu_);
  turns_.Push({now_, next_number_++, client});
  WakeIfAsleep();
}

void WaitingLoop::Remove(Client* client) {
  MutexLock lock(&mu_);
  if (client->index_ != Client::kNoTurn) {
    turns_.Remove(client->index_);
    turns_.Shrink(turns_.size());
    client->index_ = Client::kNoTurn;
    if (running_ == client) running_removed_ = true;
  }
  if (std::this_thread::get_id() == runner_) return;
  while (running_ == client) run_ended_.Wait(&mu_);
}

void WaitingLoop::Wake(Client* client) {
  MutexLock lock(&mu_);
  SetTurn(client, now_);
  WakeIfAsleep();
}

absl::Time WaitingLoop::RunDue() {
  if (!driven_) internal::Fatal("RunDue() of a waiting loop with a thread");
  bool destroyed = false;
  return RunClients(&destroyed);
}

absl::Time WaitingLoop::NextRun() {
  MutexLock lock(&mu_);
  return Sleep();
}

bool WaitingLoop::IsRunHere() const {
  MutexLock lock(&mu_);
  return runner_ == std::this_thread::get_id();
}

void WaitingLoop::SetTurn(Client* client, absl::Time time) {
  const uint32_t index = client->index_;
  if (index == Client::kNoTurn || turns_[index].time <= now_) return;
  turns_.Replace(index,
                 {std::clamp(time, now_, heartbeat_), next_number_++, client});
}

absl::Time WaitingLoop::Sleep() {
  const absl::Time next_run =
      turns_.empty() ? absl::InfiniteFuture() : turns_.front().time;
  wake_time_.Set(next_run);
  if (alarm_ != nullptr) alarm_->Set(next_run, runner_);
  return next_run;
}

void WaitingLoop::WakeIfAsleep() {
  if (turns_.empty() || !wake_time_.WakeBy(turns_.front().time)) return;
  if (alarm_ != nullptr) alarm_->Set(absl::InfinitePast(), runner_);
  wake_();
}

void WaitingLoop::Loop(Parker* parker) {
  internal::NameThisThread(name_, "loop");
  bool destroyed = false;
  while (true) {
    const absl::Time next_run = RunClients(&destroyed);
    if (destroyed) return;
    {
      MutexLock lock(&mu_);
      if (stopping_) {
        // From here on, a simulated clock does not wait for this thread.
        parker_.reset();
        return;
      }
    }
    parker->ParkUntil(next_run);
  }
}

absl::Time WaitingLoop::RunClients(bool* destroyed)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  uint64_t end;  // Only turns with lower numbers run.
  {
    MutexLock lock(&mu_);
    if (runs_) internal::Fatal("a waiting loop is run twice at the same time");
    runs_ = true;
    destroyed_ = destroyed;
    runner_ = std::this_thread::get_id();
    end = next_number_;
    wake_time_.Clear();
    if (alarm_ != nullptr) alarm_->Set(absl::InfinitePast(), runner_);
  }
  // One reading of the clock for all clients. What is due since then runs in
  // the next call, which is at once.
  const absl::Time now = internal::FiniteTime(clock_->TimeNow());
  std::optional<MutexLock> lock(std::in_place, &mu_);
  const bool went_back = now < now_;
  if (went_back) {
    // The clients may have asked for too late a time.
    turns_.UpdateAll([this, now](Turn& turn) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      turn.time = now;
      turn.number = next_number_++;
    });
    end = next_number_;
  }
  if (went_back || now >= heartbeat_) heartbeat_ = now + Heartbeat();
  now_ = now;
  while (!stopping_ && !turns_.empty() && turns_.front().time <= now &&
         turns_.front().number < end) {
    Client* const client = turns_.front().client;
    running_ = client;
    // A Wake() during the run makes the client due again.
    turns_.Replace(0, {absl::InfiniteFuture(), 0, client});
    lock.reset();
    const absl::Time time = client->Run(now);
    if (*destroyed) return absl::InfiniteFuture();
    lock.emplace(&mu_);
    running_ = nullptr;
    run_ended_.SignalAll();
    if (!std::exchange(running_removed_, false)) SetTurn(client, time);
  }
  runs_ = false;
  destroyed_ = nullptr;
  return Sleep();
}

namespace internal {
namespace {

constexpr absl::string_view kWouldBlockLoop =
    "the call would block the thread that runs the waiting loop of the object, "
    "and maybe for ever; an asynchronous call does not";

}  // namespace

absl::Status WouldBlockLoopError() {
  return absl::FailedPreconditionError(kWouldBlockLoop);
}

void DieIfWouldBlockLoop(absl::string_view call, const absl::Status& error) {
  // There may be no memory for a status to compare with.
  if (!absl::IsFailedPrecondition(error) ||
      error.message() != kWouldBlockLoop) {
    return;
  }
  Fatal(absl::StrCat(call, ": ", error.message()));
}

}  // namespace internal
}  // namespace workqueue
