// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/internal/real_clock.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/thread_name.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/internal/condition_variable_parker.h"
#include "workqueue/clock/internal/deadline_waiters.h"
#include "workqueue/clock/internal/timer_slack.h"
#include "workqueue/clock/parker.h"
#include "workqueue/clock/steady_time.h"

namespace workqueue {
namespace internal {
namespace {

// The parker of a loop, whose thread wakes as precisely as the machine can.
class LoopParker final : public Parker {
 public:
  explicit LoopParker(absl::Time epoch) : parker_(epoch) {}

  bool ParkUntil(absl::Time deadline) override {
    MinimizeTimerSlack();
    return parker_.ParkUntil(deadline);
  }

  void Unpark() override { parker_.Unpark(); }

 private:
  ConditionVariableParker parker_;
};

#ifdef WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK

// A thread that declares deadlines past, for Abseil releases that cannot wait
// on the monotonic clock. It starts with the first wait and never ends.
class DeadlineThread {
 public:
  // Returns the thread of this process. A child of `fork()` does not have the
  // threads of its parent, and so gets a thread of its own.
  static DeadlineThread* Get(Clock* clock) {
    static absl::Mutex mu(absl::kConstInit);
    static DeadlineThread* thread = nullptr;
    internal::MutexLock lock(&mu);
    if (thread == nullptr || thread->process_ != getpid()) {
      thread = new DeadlineThread(clock);
    }
    return thread;
  }

  bool Await(absl::Mutex* mu, const absl::Condition& cond,
             absl::Time deadline) {
    return waiters_.Await(mu, cond, deadline);
  }

 private:
  explicit DeadlineThread(Clock* clock)
      : process_(getpid()),
        clock_(clock),
        parker_(clock->NewParker(Parker::Role::kLoop)),
        waiters_(clock->TimeNow(), [this] { parker_->Unpark(); }) {
    std::thread([this] { Run(); }).detach();
  }

  void Run() {
    internal::NameThisThread("", "clock");
    while (true) {
      waiters_.Expire(clock_->TimeNow());
      parker_->ParkUntil(waiters_.Earliest());
    }
  }

  const pid_t process_;
  Clock* const clock_;
  const std::unique_ptr<Parker> parker_;
  DeadlineWaiters waiters_;
};

#endif  // WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK

}  // namespace

RealClock::RealClock()
    : epoch_ns_(absl::GetCurrentTimeNanos() - NanosSinceSteadyEpoch()) {}

absl::Time RealClock::TimeNow() {
  return absl::FromUnixNanos(epoch_ns_ + NanosSinceSteadyEpoch());
}

absl::Time RealClock::CoarseTimeNow() {
  return absl::FromUnixNanos(epoch_ns_ + CoarseSteadyNanos());
}

int64_t RealClockEpochNanos() {
  return static_cast<const RealClock*>(Clock::GetRealClock())->epoch_nanos();
}

void RealClock::Sleep(absl::Duration d) { SleepUntil(TimeNow() + d); }

void RealClock::SleepUntil(absl::Time wakeup_time) {
  ConditionVariableParker(epoch()).ParkUntil(wakeup_time);
}

bool RealClock::AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                                  absl::Time deadline) {
#ifdef WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK
  if (deadline == absl::InfiniteFuture()) {
    mu->Await(cond);
    return true;
  }
  if (cond.Eval()) return true;
  // If there is no memory, or no thread, the wait is on the wall clock.
  bool holds = false;
  const auto wait = [&] {
    holds = DeadlineThread::Get(this)->Await(mu, cond, deadline);
  };
  if (internal::TryCall(wait)) return holds;
#endif
  return mu->AwaitWithTimeout(cond, deadline - TimeNow());
}

std::unique_ptr<Parker> RealClock::NewParker(Parker::Role role) {
  if (role == Parker::Role::kLoop) return std::make_unique<LoopParker>(epoch());
  return std::make_unique<ConditionVariableParker>(epoch());
}

}  // namespace internal
}  // namespace workqueue
