// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/callback_getters.h"

#include <cstddef>

#include "workqueue/base/exceptions.h"
#include "workqueue/internal/queue_state.h"
#include "workqueue/internal/submit_task.h"

namespace workqueue::internal {
namespace {

// The outermost object of the thread; null if there is none.
thread_local HoldCallbacks* holder = nullptr;

}  // namespace

void CallbackWakeUp::Send() const {
  SubmitTask(executor,
             [queue = queue, getter = getter] { queue->RunCallback(getter); });
}

void CallbackWakeUps::SendAll() {
  for (size_t i = 0; i < size_; ++i) {
    const CallbackWakeUp& wake_up = wake_ups_[i];
    if (holder == nullptr ||
        !TryCall([&wake_up] { holder->held_.push_back(wake_up); })) {
      wake_up.Send();
    }
  }
}

HoldCallbacks::HoldCallbacks() : outer_(holder) {
  if (outer_ == nullptr) holder = this;
}

HoldCallbacks::~HoldCallbacks() {
  if (outer_ != nullptr) return;
  holder = nullptr;
  for (const CallbackWakeUp& wake_up : held_) wake_up.Send();
}

}  // namespace workqueue::internal
