// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_loop.h"

#include <algorithm>
#include <cstdint>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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
      parker_(clock_->NewParker(Parker::Role::kLoop)),
      thread_([this] { Loop(); }) {}

WaitingLoop::~WaitingLoop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    parker_->Unpark();
  }
  thread_.join();
}

void WaitingLoop::Add(Client* client) {
  MutexLock lock(&mu_);
  turns_.Push({now_, next_number_++, client});
  parker_->Unpark();
}

void WaitingLoop::Remove(Client* client) {
  MutexLock lock(&mu_);
  if (client->index_ != Client::kNoTurn) {
    turns_.Remove(client->index_);
    turns_.Shrink(turns_.size());
    client->index_ = Client::kNoTurn;
    if (running_ == client) running_removed_ = true;
  }
  if (std::this_thread::get_id() == thread_.get_id()) return;
  while (running_ == client) run_ended_.Wait(&mu_);
}

void WaitingLoop::Wake(Client* client) {
  MutexLock lock(&mu_);
  SetTurn(client, now_);
  parker_->Unpark();
}

void WaitingLoop::SetTurn(Client* client, absl::Time time) {
  const uint32_t index = client->index_;
  if (index == Client::kNoTurn || turns_[index].time <= now_) return;
  turns_.Replace(index,
                 {std::clamp(time, now_, heartbeat_), next_number_++, client});
}

void WaitingLoop::Loop() {
  internal::NameThisThread(name_, "loop");
  Parker* parker;
  {
    MutexLock lock(&mu_);
    parker = parker_.get();
  }
  while (true) {
    const absl::Time now = internal::FiniteTime(clock_->TimeNow());
    absl::Time next_run;
    if (Client* const client = BeginRun(now, &next_run)) {
      EndRun(client, client->Run(now));
      continue;
    }
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

WaitingLoop::Client* WaitingLoop::BeginRun(absl::Time now,
                                           absl::Time* next_run) {
  MutexLock lock(&mu_);
  const bool went_back = now < now_;
  if (went_back) {
    // The clients may have asked for too late a time.
    turns_.UpdateAll([this, now](Turn& turn) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      turn.time = now;
      turn.number = next_number_++;
    });
  }
  if (went_back || now >= heartbeat_) heartbeat_ = now + Heartbeat();
  now_ = now;
  *next_run = turns_.empty() ? heartbeat_ : turns_.front().time;
  if (stopping_ || *next_run > now) return nullptr;
  running_ = turns_.front().client;
  // A Wake() during the run makes the client due again.
  turns_.Replace(0, {absl::InfiniteFuture(), 0, running_});
  return running_;
}

void WaitingLoop::EndRun(Client* client, absl::Time next_run) {
  MutexLock lock(&mu_);
  running_ = nullptr;
  run_ended_.SignalAll();
  if (std::exchange(running_removed_, false)) return;
  SetTurn(client, next_run);
}

}  // namespace workqueue
