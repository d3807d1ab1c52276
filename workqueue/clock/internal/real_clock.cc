// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>

#include "absl/base/config.h"
#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/process_id.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/internal/condition_variable_parker.h"
#include "workqueue/clock/internal/deadline_waiters.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

// Defined if `absl::Mutex` turns a relative timeout into a deadline on the wall
// clock. Releases since 20230802 measure it on the monotonic clock, and so does
// a simulation.
#if !defined(WORKQUEUE_SIMULATION) && defined(ABSL_LTS_RELEASE_VERSION) && \
    ABSL_LTS_RELEASE_VERSION < 20230802
#define WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK 1
#endif

namespace workqueue {
namespace internal {
namespace {

#ifdef WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK

// A thread that declares deadlines past, for Abseil releases that cannot wait
// on the monotonic clock. It starts with the first wait and never ends.
class DeadlineThread {
 public:
  // Returns the thread of this process. A child of `fork()` does not have the
  // threads of its parent, and so gets a thread of its own.
  static DeadlineThread* Get(Clock* clock) {
    static sync::Mutex mu(absl::kConstInit);
    static DeadlineThread* thread = nullptr;
    internal::MutexLock lock(&mu);
    if (thread == nullptr || thread->process_ != ProcessId()) {
      thread = new DeadlineThread(clock);
    }
    return thread;
  }

  bool Await(sync::Mutex* mu, const absl::Condition& cond,
             absl::Time deadline) {
    return waiters_.Await(mu, cond, deadline);
  }

 private:
  explicit DeadlineThread(Clock* clock)
      : process_(ProcessId()),
        clock_(clock),
        parker_(clock->NewParker(Parker::Role::kLoop)),
        waiters_(clock->TimeNow(), [this] { parker_->Unpark(); }) {
    sync::Thread([this] { Run(); }).detach();
  }

  void Run() {
    internal::NameThisThread("", "clock");
    while (true) {
      waiters_.Expire(clock_->TimeNow());
      parker_->ParkUntil(waiters_.Earliest());
    }
  }

  const int process_;
  Clock* const clock_;
  const std::unique_ptr<Parker> parker_;
  DeadlineWaiters waiters_;
};

#endif  // WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK

// RealClock
//
// This class is the machine's monotonic clock, plus a constant: it reads the
// time of the wall clock at its construction.
class RealClock final : public Clock {
 public:
  absl::Time TimeNow() override {
    return absl::FromUnixNanos(epoch_ns_ + sync::SteadyNanos());
  }
  absl::Time CoarseTimeNow() override {
    return absl::FromUnixNanos(epoch_ns_ + sync::CoarseSteadyNanos());
  }
  void Sleep(absl::Duration d) override { SleepUntil(TimeNow() + d); }
  void SleepUntil(absl::Time wakeup_time) override {
    ConditionVariableParker(epoch(), Parker::Role::kCaller)
        .ParkUntil(wakeup_time);
  }
  bool AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override;
  std::unique_ptr<Parker> NewParker(Parker::Role role) override {
    return std::make_unique<ConditionVariableParker>(epoch(), role);
  }

  // The time of this clock at the epoch of the monotonic clock, in Unix time.
  int64_t epoch_nanos() const { return epoch_ns_; }

 private:
  absl::Time epoch() const { return absl::FromUnixNanos(epoch_ns_); }

  // Adding integers is cheaper than adding an `absl::Duration` to an
  // `absl::Time`, which may be infinite.
  const int64_t epoch_ns_ = sync::WallNanos() - sync::SteadyNanos();
};

bool RealClock::AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
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

// There is one instance, which is never destroyed.
RealClock* GetInstance() {
  static RealClock* const clock = new RealClock;
  return clock;
}

}  // namespace

int64_t RealClockEpochNanos() { return GetInstance()->epoch_nanos(); }

}  // namespace internal

Clock* Clock::GetRealClock() { return internal::GetInstance(); }

}  // namespace workqueue
