// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/fake_clock.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/alarm.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

using internal::MutexLock;

namespace {

// Returns what a clock shows whose time is `t`.
absl::Time Shown(absl::Time t) {
  const absl::Time epoch = absl::UnixEpoch();
  return internal::FiniteTime(epoch +
                              absl::Ceil(t - epoch, absl::Nanoseconds(1)));
}

}  // namespace

// The clock's mu_ guards all members.
class FakeClock::FakeParker final : public Parker {
 public:
  FakeParker(FakeClock* clock, Role role) : clock_(clock), role_(role) {
    if (role_ == Role::kLoop) {
      MutexLock lock(&clock_->mu_);
      clock_->loops_.insert(this);
    }
  }

  ~FakeParker() override {
    if (role_ == Role::kLoop) {
      MutexLock lock(&clock_->mu_);
      clock_->loops_.erase(this);
      clock_->changed_.SignalAll();
    }
  }

  bool ParkUntil(absl::Time deadline) override {
    MutexLock lock(&clock_->mu_);
    thread_ = std::this_thread::get_id();
    if (!unparked_ && deadline > clock_->now_) {
      deadline_ = deadline;
      parked_ = true;
      clock_->parked_.push_back(this);
      clock_->asleep_.insert(thread_);
      clock_->changed_.SignalAll();
      while (parked_) woken_.Wait(&clock_->mu_);
      clock_->asleep_.erase(thread_);
      --clock_->returning_;
      clock_->changed_.SignalAll();
    }
    const bool unparked = unparked_;
    unparked_ = false;
    return unparked;
  }

  void Unpark() override {
    MutexLock lock(&clock_->mu_);
    UnparkLocked();
  }

  // Does the same. The caller must hold the clock's mu_.
  void UnparkLocked() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    unparked_ = true;
    if (!parked_) return;
    auto& all = clock_->parked_;
    all.erase(std::find(all.begin(), all.end(), this));
    Wake();
  }

  // Wakes the thread. From now on the clock waits for this thread, which may
  // not run for a while. The caller must hold the clock's mu_ and must remove
  // this parker from the clock's `parked_`.
  void Wake() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    parked_ = false;
    ++clock_->returning_;
    woken_.Signal();
  }

  absl::Time deadline() const { return deadline_; }
  std::thread::id thread() const { return thread_; }

 private:
  FakeClock* const clock_;
  const Role role_;
  sync::CondVar woken_;
  absl::Time deadline_;
  std::thread::id thread_;  // the last thread in ParkUntil()
  bool parked_ = false;     // a thread sleeps here and has not been woken
  // Unpark() was called and no ParkUntil() has used it
  bool unparked_ = false;
};

// The clock's mu_ guards all members.
class FakeClock::FakeAlarm final : public Alarm {
 public:
  FakeAlarm(FakeClock* clock, std::function<void()> ring)
      : clock_(clock), ring_(std::move(ring)) {
    MutexLock lock(&clock_->mu_);
    clock_->alarms_.insert(this);
  }

  ~FakeAlarm() override {
    MutexLock lock(&clock_->mu_);
    while (rings_) clock_->changed_.Wait(&clock_->mu_);
    clock_->alarms_.erase(this);
    clock_->changed_.SignalAll();
  }

  void Set(absl::Time time, std::thread::id runner) override {
    MutexLock lock(&clock_->mu_);
    time_ = time;
    runner_ = runner;
    clock_->changed_.SignalAll();
  }

  // Called without the clock's mu_, between two calls of `SetRings()`.
  void Ring() { ring_(); }

  // The rest requires the clock's mu_.

  // `Ring()` will be called, or has been called. The loop has something to do.
  void SetRings(bool rings) {
    rings_ = rings;
    if (rings) time_ = absl::InfinitePast();
  }

  absl::Time time() const { return time_; }
  std::thread::id runner() const { return runner_; }

 private:
  FakeClock* const clock_;
  const std::function<void()> ring_;
  absl::Time time_ = absl::InfiniteFuture();
  std::thread::id runner_ = std::this_thread::get_id();
  bool rings_ = false;
};

FakeClock::FakeClock(absl::Time start)
    : awaiting_(
          Shown(start),
          [this] {
            MutexLock lock(&mu_);
            asleep_.insert(std::this_thread::get_id());
            changed_.SignalAll();
          },
          [this] {
            MutexLock lock(&mu_);
            asleep_.erase(std::this_thread::get_id());
          }),
      now_(Shown(start)) {}

void FakeClock::Step(absl::Duration d) {
  Move([d](absl::Time now) { return now + d; });
}

void FakeClock::SetTime(absl::Time t) {
  Move([t](absl::Time) { return t; });
}

void FakeClock::Move(absl::FunctionRef<absl::Time(absl::Time)> move) {
  MutexLock one_at_a_time(&moving_);
  // Requests made before this call are handled at the old time.
  AwaitIdle();
  absl::Time now;
  std::vector<FakeAlarm*> ringing;
  {
    MutexLock lock(&mu_);
    now = Shown(move(now_));
    if (now < now_) {
      for (FakeParker* loop : loops_) loop->UnparkLocked();
    }
    for (FakeAlarm* alarm : alarms_) {
      if (now >= now_ && alarm->time() > now) continue;
      alarm->SetRings(true);
      ringing.push_back(alarm);
    }
    now_ = now;
    const auto due = std::partition(
        parked_.begin(), parked_.end(),
        [now](const FakeParker* parker) { return parker->deadline() > now; });
    std::for_each(due, parked_.end(),
                  [](FakeParker* parker) { parker->Wake(); });
    parked_.erase(due, parked_.end());
  }
  awaiting_.Expire(now);
  // Without the lock, because it may wake a thread that sleeps on this clock.
  for (FakeAlarm* alarm : ringing) alarm->Ring();
  {
    MutexLock lock(&mu_);
    for (FakeAlarm* alarm : ringing) alarm->SetRings(false);
    changed_.SignalAll();
  }
  AwaitIdle();
}

void FakeClock::AwaitIdle() {
  awaiting_.AwaitExpired();
  MutexLock lock(&mu_);
  while (!Idle()) changed_.Wait(&mu_);
}

bool FakeClock::Idle() const {
  if (returning_ > 0) return false;
  for (const FakeParker* loop : loops_) {
    if (!asleep_.contains(loop->thread())) return false;
  }
  for (const FakeAlarm* alarm : alarms_) {
    if (alarm->time() <= now_ && !asleep_.contains(alarm->runner()) &&
        alarm->runner() != std::this_thread::get_id()) {
      return false;
    }
  }
  return true;
}

bool FakeClock::HasWaiters() const { return NumWaiters() > 0; }

size_t FakeClock::NumWaiters() const {
  MutexLock lock(&mu_);
  return NumWaitersLocked();
}

size_t FakeClock::NumWaitersLocked() const {
  const auto waits =
      [this](const FakeAlarm* alarm) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return alarm->time() > now_ && alarm->time() < absl::InfiniteFuture();
      };
  return parked_.size() + awaiting_.Count() +
         static_cast<size_t>(
             std::count_if(alarms_.begin(), alarms_.end(), waits));
}

absl::Time FakeClock::GetEarliestWakeupTime() const {
  MutexLock lock(&mu_);
  absl::Time earliest = awaiting_.Earliest();
  for (const FakeParker* parker : parked_) {
    earliest = std::min(earliest, parker->deadline());
  }
  for (const FakeAlarm* alarm : alarms_) {
    if (alarm->time() > now_) earliest = std::min(earliest, alarm->time());
  }
  return earliest;
}

void FakeClock::AwaitWaiters(size_t n) const {
  MutexLock lock(&mu_);
  while (NumWaitersLocked() < n) changed_.Wait(&mu_);
}

absl::Time FakeClock::TimeNow() {
  MutexLock lock(&mu_);
  return now_;
}

void FakeClock::Sleep(absl::Duration d) { SleepUntil(TimeNow() + d); }

void FakeClock::SleepUntil(absl::Time wakeup_time) {
  FakeParker(this, Parker::Role::kCaller).ParkUntil(wakeup_time);
}

bool FakeClock::AwaitWithDeadline(sync::Mutex* mu, const absl::Condition& cond,
                                  absl::Time deadline) {
  return awaiting_.Await(mu, cond, deadline);
}

std::unique_ptr<Parker> FakeClock::NewParker(Parker::Role role) {
  return std::make_unique<FakeParker>(this, role);
}

std::unique_ptr<Alarm> FakeClock::NewAlarm(std::function<void()> ring) {
  return std::make_unique<FakeAlarm>(this, std::move(ring));
}

}  // namespace workqueue
