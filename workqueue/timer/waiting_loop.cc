// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_loop.h"

#include <algorithm>
#include <thread>  // NOLINT(build/c++11)

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/internal/finite_time.h"
#include "workqueue/internal/mutex_lock.h"

namespace workqueue {

using internal::MutexLock;

WaitingLoop::WaitingLoop(Clock* clock)
    : clock_(OrRealClock(clock)),
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
  clients_.push_back(client);
  client->next_run_ = absl::InfinitePast();
  parker_->Unpark();
}

void WaitingLoop::Remove(Client* client) {
  MutexLock lock(&mu_);
  clients_.erase(std::remove(clients_.begin(), clients_.end(), client),
                 clients_.end());
  if (std::this_thread::get_id() == thread_.get_id()) return;
  while (running_ == client) run_ended_.Wait(&mu_);
}

void WaitingLoop::Wake(Client* client) {
  MutexLock lock(&mu_);
  client->next_run_ = absl::InfinitePast();
  parker_->Unpark();
}

void WaitingLoop::WakeAll() {
  MutexLock lock(&mu_);
  for (Client* client : clients_) client->next_run_ = absl::InfinitePast();
}

void WaitingLoop::Loop() {
  Parker* parker;
  {
    MutexLock lock(&mu_);
    parker = parker_.get();
  }
  absl::Time now = internal::FiniteTime(clock_->TimeNow());
  absl::Time heartbeat = now + Heartbeat();
  while (true) {
    const absl::Time before = now;
    now = internal::FiniteTime(clock_->TimeNow());
    // If the clock has gone back, clients may have asked for too late a time.
    if (now >= heartbeat || now < before) {
      WakeAll();
      heartbeat = now + Heartbeat();
    }
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
    parker->ParkUntil(std::min(next_run, heartbeat));
  }
}

WaitingLoop::Client* WaitingLoop::BeginRun(absl::Time now,
                                           absl::Time* next_run) {
  MutexLock lock(&mu_);
  *next_run = absl::InfiniteFuture();
  for (auto it = clients_.begin(); it != clients_.end() && !stopping_; ++it) {
    Client* const client = *it;
    if (client->next_run_ > now) {
      *next_run = std::min(*next_run, client->next_run_);
      continue;
    }
    // A Wake() during the run makes the client due again.
    client->next_run_ = absl::InfiniteFuture();
    // At the next call, the other clients come first.
    std::rotate(it, it + 1, clients_.end());
    running_ = client;
    return client;
  }
  return nullptr;
}

void WaitingLoop::EndRun(Client* client, absl::Time next_run) {
  MutexLock lock(&mu_);
  running_ = nullptr;
  run_ended_.SignalAll();
  // The client may have been removed and destroyed.
  if (std::find(clients_.begin(), clients_.end(), client) != clients_.end()) {
    client->next_run_ = std::min(client->next_run_, next_run);
  }
}

}  // namespace workqueue
