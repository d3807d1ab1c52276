// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_loop.h"

#include <algorithm>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/mutex_lock.h"

namespace workqueue {

using internal::MutexLock;

WaitingLoop::WaitingLoop(Clock* clock)
    : clock_(OrRealClock(clock)),
      parker_(clock_->NewParker(Parker::Role::kLoop)),
      heartbeat_(clock_->TimeNow() + Heartbeat()),
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
  waiting_.Reserve(clients_ + 1);
  ++clients_;
  MakeReady(client);
  parker_->Unpark();
}

void WaitingLoop::Remove(Client* client) {
  MutexLock lock(&mu_);
  TakeOut(client);
  if (--clients_ == 0) waiting_.Clear();
  if (running_ != client) return;
  running_removed_ = true;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  while (running_ == client) run_ended_.Wait(&mu_);
}

void WaitingLoop::Wake(Client* client) {
  MutexLock lock(&mu_);
  if (client->place_ != Client::kReady) MakeReady(client);
  parker_->Unpark();
}

void WaitingLoop::MakeReady(Client* client) {
  TakeOut(client);
  ready_.PushBack(client);
  client->place_ = Client::kReady;
}

void WaitingLoop::TakeOut(Client* client) {
  if (client->place_ == Client::kReady) {
    ready_.Remove(client);
  } else if (client->place_ != Client::kNowhere) {
    waiting_.Remove(client->place_);
  }
  client->place_ = Client::kNowhere;
}

void WaitingLoop::Loop() {
  Parker* parker;
  {
    MutexLock lock(&mu_);
    parker = parker_.get();
  }
  while (true) {
    const absl::Time now = clock_->TimeNow();
    absl::Time wake_at;
    if (Client* const client = BeginRun(now, &wake_at)) {
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
    parker->ParkUntil(wake_at);
  }
}

WaitingLoop::Client* WaitingLoop::BeginRun(absl::Time now,
                                           absl::Time* wake_at) {
  MutexLock lock(&mu_);
  if (stopping_) return nullptr;
  const bool beat = now >= heartbeat_;
  if (beat) heartbeat_ = now + Heartbeat();
  while (!waiting_.empty() && (beat || waiting_.front().next_run <= now)) {
    MakeReady(waiting_.front().client);
  }
  if (ready_.empty()) {
    *wake_at = waiting_.empty()
                   ? heartbeat_
                   : std::min(heartbeat_, waiting_.front().next_run);
    return nullptr;
  }
  Client* const client = ready_.front();
  TakeOut(client);
  running_ = client;
  return client;
}

void WaitingLoop::EndRun(Client* client, absl::Time next_run) {
  MutexLock lock(&mu_);
  running_ = nullptr;
  run_ended_.SignalAll();
  if (std::exchange(running_removed_, false)) return;
  // If the client has been woken during the run, it is in ready_.
  if (client->place_ == Client::kNowhere) waiting_.Push({next_run, client});
}

}  // namespace workqueue
