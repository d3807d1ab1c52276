// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/queue_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

absl::Status ShuttingDownError() {
  return absl::CancelledError("the queue is shutting down");
}

QueueState::QueueState(RunCallbackFunction run_callback, absl::string_view name,
                       MetricsProvider* metrics_provider, LogSink* log_sink,
                       const QueueClock& clock, bool has_priorities)
    : errors_("queue", name, log_sink, clock.clock()),
      run_callback_(run_callback),
      driven_loop_(clock.DrivenLoop()),
      clock_(clock.clock()),
      is_clock_real_(clock_ == Clock::GetRealClock()),
      metrics_(QueueMetrics::Create(name, metrics_provider, clock_,
                                    has_priorities)) {}

absl::Status QueueState::AwaitItem(absl::Duration timeout,
                                   absl::FunctionRef<NextItem()> next) {
  const auto over = [this, next]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !MustWait(next());
  };
  if (ABSL_PREDICT_FALSE(driven_loop_ != nullptr) &&
      timeout > absl::ZeroDuration() && !over() && BlocksLoop()) {
    return WouldBlockLoopError();
  }
  ++blocked_;
  if (timeout == absl::InfiniteDuration()) {
    while (!over()) {
      Getter self;
      getters_.PushFront(&self);
      do {
        self.wake_up.Wait(&mu_);
      } while (!self.woken && !over());
      if (self.woken) {
        --woken_getters_;
        --woken_threads_;
      } else {
        getters_.Remove(&self);
      }
    }
  } else if (timeout > absl::ZeroDuration() && !over()) {
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&over),
                              clock_->TimeNow() + timeout);
  }
  --blocked_;
  return AfterWait(next());
}

absl::Status QueueState::AfterWait(NextItem next) const {
  if (next == NextItem::kReady && !closing_) return absl::OkStatus();
  // The error has no message, because a caller that polls would pay for it.
  if (MustWait(next)) return absl::DeadlineExceededError("");
  // A worker must learn of the end even if there is no memory for the message.
  return MakeError(absl::StatusCode::kCancelled,
                   "the queue has been shut down and is empty");
}

absl::StatusOr<bool> QueueState::AwaitDrained(int64_t drain,
                                              absl::Duration timeout,
                                              absl::FunctionRef<bool()> idle) {
  const auto over = [this, idle, drain]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return idle() || drain_ends_ != drain;
  };
  // In this order: only a loop's thread asks twice whether the queue is idle.
  if (timeout > absl::ZeroDuration() && BlocksLoop() && !over()) {
    --blocked_;
    return WouldBlockLoopError();
  }
  if (timeout == absl::InfiniteDuration()) {
    while (!over()) drained_.Wait(&mu_);
  } else if (timeout > absl::ZeroDuration()) {
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&over),
                              clock_->TimeNow() + timeout);
  }
  --blocked_;
  return idle();
}

void QueueState::WakeGetters(NextItem next, size_t queued,
                             CallbackWakeUps* wake_ups) {
  size_t wanted = next == NextItem::kReady ? std::min(queued, kMaxWoken) : 0;
  if (IsShuttingDown() && !MustWait(next)) {
    if (!callbacks_.empty()) wanted = kMaxWoken;
    // They may have waited for an item that was held back.
    if (next == NextItem::kNone) SignalGetters();
  }
  while (GettersWait()) {
    const bool in_turn = woken_getters_ < wanted;
    // The executor of a woken callback may be busy. No thread waits for that.
    if (!in_turn && (getters_.empty() || woken_threads_ >= wanted)) break;
    ++woken_getters_;
    if (in_turn && !callbacks_.empty() &&
        (turn_of_callback_ || getters_.empty())) {
      turn_of_callback_ = false;
      CallbackGetter* const getter = callbacks_.PopFront();
      getter->woken = true;
      wake_ups->Add({getter->executor, this, getter->slot()});
    } else {
      turn_of_callback_ |= in_turn;
      ++woken_threads_;
      Getter* const getter = getters_.PopFront();
      getter->woken = true;
      getter->wake_up.Signal();
    }
  }
}

void QueueState::BeginShutDown() {
  shutting_down_.store(true);
  SignalGetters();
}

void QueueState::SignalGetters() {
  for (Getter* getter = getters_.front(); getter != nullptr;
       getter = getter->next()) {
    getter->wake_up.Signal();
  }
}

void QueueState::EndDrains() {
  ++drain_ends_;
  drained_.SignalAll();
}

void QueueState::BeginDestruction() {
  closing_ = true;
  BeginShutDown();
  EndDrains();
}

void QueueState::AwaitNobodyBlocks(absl::FunctionRef<bool()> runs_here) {
  Trampoline::RunDeferred();
  MutexLock lock(&mu_);
  // Calls and threads return without the loop.
  if (callbacks_.size() + woken_getters_ + cancelled_ > woken_threads_ &&
      (BlocksLoop() || runs_here())) {
    Fatal(absl::StrCat(
        errors_.who(),
        " is destroyed on the thread that runs its waiting loop or an "
        "executor, before its callbacks have been called; shut it down first, "
        "and let the loop run"));
  }
  const uint64_t ended = ended_calls_.fetch_add(kDestroyed);
  const auto nobody_blocks = [this, ended]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !ThreadsBlock() && begun_calls_ == ended + ended_late_;
  };
  mu_.Await(absl::Condition(&nobody_blocks));
}

void QueueState::EndLateCall() {
  MutexLock lock(&mu_);
  ++ended_late_;
}

}  // namespace workqueue::internal
