// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "clock/clock.h"

#include <memory>

#include "clock/internal/await_parker.h"
#include "clock/internal/real_clock.h"
#include "clock/parker.h"

namespace clocks {

Clock* Clock::GetRealClock() {
  static Clock* const clock = new internal::RealClock;
  return clock;
}

std::unique_ptr<Parker> Clock::NewParker(Parker::Role) {
  return std::make_unique<internal::AwaitParker>(this);
}

}  // namespace clocks
