// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/clock.h"

#include <memory>

#include "workqueue/clock/internal/await_parker.h"
#include "workqueue/clock/internal/real_clock.h"
#include "workqueue/clock/parker.h"

namespace workqueue {

Clock* Clock::GetRealClock() {
  static Clock* const clock = new internal::RealClock;
  return clock;
}

std::unique_ptr<Parker> Clock::NewParker(Parker::Role) {
  return std::make_unique<internal::AwaitParker>(this);
}

}  // namespace workqueue
