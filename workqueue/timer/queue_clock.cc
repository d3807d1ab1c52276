// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/queue_clock.h"

#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

QueueClock::QueueClock(std::shared_ptr<WaitingLoop> loop)
    : clock_(loop != nullptr ? loop->clock() : Clock::GetRealClock()),
      given_(loop != nullptr),
      loop_(std::move(loop)) {}

std::shared_ptr<WaitingLoop> QueueClock::DrivenLoop() const {
  return loop_ != nullptr && loop_->driven() ? loop_ : nullptr;
}

std::shared_ptr<WaitingLoop> QueueClock::LoopOrNew(
    absl::string_view name) const {
  return loop_ != nullptr ? loop_ : std::make_shared<WaitingLoop>(clock_, name);
}

}  // namespace workqueue
