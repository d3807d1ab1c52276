// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_INTERNAL_LOOP_PARKER_H_
#define WORKQUEUE_TIMER_INTERNAL_LOOP_PARKER_H_

#include "absl/time/time.h"
#include "workqueue/clock/parker.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// LoopParker
//
// Makes a client of a `WaitingLoop` one of the waiters of `LeaderFollowers`. In
// the place of parking, the client returns the time from `Run()`.
//
// Thread-safe.
class LoopParker final : public Parker {
 public:
  // Nothing is owned.
  LoopParker(WaitingLoop* loop, WaitingLoop::Client* client)
      : loop_(loop), client_(client) {}

  bool ParkUntil(absl::Time) override { return false; }  // never called
  void Unpark() override { loop_->Wake(client_); }

 private:
  WaitingLoop* const loop_;
  WaitingLoop::Client* const client_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TIMER_INTERNAL_LOOP_PARKER_H_
