// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WORKQUEUE_SIMULATION

#include "workqueue/simulation/internal/simulated_sync.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/simulation/internal/scheduler.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue::simulation::internal {
namespace {

// The times begin here, so that none is zero.
constexpr int64_t kBootNanos = int64_t{1000} * 1000000000;

[[noreturn]] void Die(const std::string& reason) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Fail(reason);
  }
  fprintf(stderr, "not in a simulation: %s\n", reason.c_str());
  abort();
}

void MakeDelayedStores() {
  if (Scheduler* const scheduler = Scheduler::Current()) scheduler->Drain();
}

bool ChoosesFailure(ChoiceKind kind) {
  Scheduler* const scheduler = Scheduler::Current();
  return scheduler != nullptr && scheduler->spurious_wake_ups() &&
         scheduler->Choose(kind, 2) == 1;
}

}  // namespace

int64_t Deadline(absl::Duration since_now) {
  const Scheduler* const scheduler = Scheduler::Current();
  if (since_now == absl::InfiniteDuration()) return kNever;
  // Rounded up, or a loop that waits for a part of a nanosecond would not end.
  const int64_t nanos = absl::ToInt64Nanoseconds(absl::Ceil(
      std::max(since_now, absl::ZeroDuration()), absl::Nanoseconds(1)));
  const int64_t now = scheduler != nullptr ? scheduler->now() : 0;
  return nanos >= kNever - now ? kNever - 1 : now + nanos;
}

void PointBefore(const char* what, const void* object) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Point(what, object);
  }
}

void FenceBefore(const char* what, const void* object) {
  PointBefore(what, object);
  MakeDelayedStores();
}

bool FailsForNoReason() { return ChoosesFailure(ChoiceKind::kWakeUp); }

bool Delay(void* object, bool is_release, const void* value, size_t size,
           void (*store)(void* object, const void* value)) {
  Scheduler* const scheduler = Scheduler::Current();
  DelayedStore delayed = {object, store, is_release, {}};
  if (scheduler == nullptr || size > sizeof(delayed.value)) return false;
  memcpy(delayed.value, value, size);
  return scheduler->Delay(delayed);
}

const void* DelayedValue(const void* object) {
  const Scheduler* const scheduler = Scheduler::Current();
  return scheduler != nullptr ? scheduler->DelayedValue(object) : nullptr;
}

void ForgetStores(const void* object) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->Forget(object);
  }
}

}  // namespace workqueue::simulation::internal

namespace workqueue::sync {

using simulation::internal::ChoiceKind;
using simulation::internal::ChoosesFailure;
using simulation::internal::Deadline;
using simulation::internal::Die;
using simulation::internal::kBootNanos;
using simulation::internal::kNever;
using simulation::internal::MakeDelayedStores;
using simulation::internal::PointBefore;
using simulation::internal::Scheduler;
using simulation::internal::SimThread;
using Wait = Scheduler::Wait;

namespace {

// What owns a lock: a thread, or the program outside of a simulation.
const void* Me() {
  static const char outside = 0;
  return Scheduler::Self() != nullptr
             ? static_cast<const void*>(Scheduler::Self())
             : &outside;
}

}  // namespace

Mutex::~Mutex() {
  CheckAlive("destroyed");
  if (held_ || readers_ > 0) Die("a mutex is destroyed while it is held");
  if (Scheduler* const scheduler = Scheduler::Current()) {
    bool waits = false;
    for (Wait wait : {Wait::kLock, Wait::kSharedLock, Wait::kCondition}) {
      scheduler->ForEachWaiter(wait, this, [&](SimThread*) { waits = true; });
    }
    if (waits) Die("a mutex is destroyed while a thread waits for it");
  }
  alive_ = 0;
}

void Mutex::CheckAlive(const char* what) const {
  if (alive_ != kAlive) Die(absl::StrCat("a destroyed mutex is ", what));
}

bool Mutex::CanTake(Mode mode) const {
  return !held_ && (mode == kShared || readers_ == 0);
}

void Mutex::Take(Mode mode) {
  MakeDelayedStores();
  if (mode == kShared) {
    ++readers_;
    return;
  }
  held_ = true;
  owner_ = Me();
}

void Mutex::AwaitLock(Mode mode) {
  while (!CanTake(mode)) {
    if (held_ && owner_ == Me()) Die("a thread locks a mutex that it holds");
    Scheduler* const scheduler = Scheduler::Current();
    if (scheduler == nullptr) Die("a lock is held");
    scheduler->Block(mode == kShared ? Wait::kSharedLock : Wait::kLock, this,
                     kNever, [this, mode] { return CanTake(mode); });
    CheckAlive("locked");
  }
  Take(mode);
}

Mutex::Mode Mutex::Release() {
  MakeDelayedStores();
  const Mode mode = held_ ? kExclusive : kShared;
  if (mode == kExclusive) {
    if (owner_ != Me()) Die("a thread unlocks a mutex that it does not hold");
    // As in Abseil, whoever releases the lock looks whether a condition holds.
    if (Scheduler* const scheduler = Scheduler::Current()) {
      scheduler->BeginNoPoints();
      scheduler->ForEachWaiter(Wait::kCondition, this, [](SimThread* waiter) {
        if (waiter->condition->Eval()) waiter->woken = true;
      });
      scheduler->EndNoPoints();
    }
    held_ = false;
    owner_ = nullptr;
  } else {
    if (readers_ == 0) Die("a mutex is unlocked that nobody holds");
    --readers_;
  }
  return mode;
}

void Mutex::Lock() {
  PointBefore("locks", this);
  CheckAlive("locked");
  AwaitLock(kExclusive);
}

bool Mutex::TryLock() {
  PointBefore("tries to lock", this);
  CheckAlive("locked");
  if (!CanTake(kExclusive) || ChoosesFailure(ChoiceKind::kTryLock)) {
    return false;
  }
  Take(kExclusive);
  return true;
}

void Mutex::Unlock() {
  PointBefore("unlocks", this);
  CheckAlive("unlocked");
  Release();
  PointBefore("has unlocked", this);
}

void Mutex::ReaderLock() {
  PointBefore("locks", this);
  CheckAlive("locked");
  AwaitLock(kShared);
}

void Mutex::ReaderUnlock() {
  CheckAlive("unlocked");
  Release();
  PointBefore("has unlocked", this);
}

void Mutex::AssertHeld() const {
  if (!held_ || owner_ != Me()) Die("AssertHeld() of a mutex that is not");
}

void Mutex::Await(const absl::Condition& condition) {
  AwaitUntil(condition, kNever);
}

bool Mutex::AwaitWithTimeout(const absl::Condition& condition,
                             absl::Duration timeout) {
  return AwaitUntil(condition, Deadline(timeout));
}

bool Mutex::AwaitUntil(const absl::Condition& condition, int64_t deadline) {
  Scheduler* const scheduler = Scheduler::Current();
  const auto holds = [&] {
    if (scheduler != nullptr) scheduler->BeginNoPoints();
    const bool result = condition.Eval();
    if (scheduler != nullptr) scheduler->EndNoPoints();
    return result;
  };
  if (holds()) return true;
  if (scheduler == nullptr) Die("a condition does not hold");
  SimThread* const self = Scheduler::Self();
  self->condition = &condition;
  while (true) {
    self->woken = false;
    const Mode mode = Release();
    const auto ready = [&] {
      return (self->woken || scheduler->now() >= deadline) && CanTake(mode);
    };
    scheduler->Block(Wait::kCondition, this, deadline, ready);
    CheckAlive("awaited");
    Take(mode);
    const bool result = holds();
    if (result || scheduler->now() >= deadline) return result;
  }
}

CondVar::~CondVar() {
  CheckAlive("destroyed");
  alive_ = 0;
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->ForEachWaiter(Wait::kSignal, this, [&](SimThread* waiter) {
      if (!waiter->woken) {
        Die("a condition variable is destroyed while a thread waits");
      }
    });
  }
}

void CondVar::CheckAlive(const char* what) const {
  if (alive_ != kAlive) {
    Die(absl::StrCat("a destroyed condition variable is ", what));
  }
}

bool CondVar::WaitUntil(Mutex* mu, absl::Time deadline) {
  Scheduler* const scheduler = Scheduler::Current();
  CheckAlive("awaited");
  if (scheduler == nullptr) Die("a thread waits on a condition variable");
  int64_t until = kNever;
  if (deadline != absl::InfiniteFuture()) {
    until = Deadline(deadline - absl::UnixEpoch() -
                     absl::Nanoseconds(SteadyNanos()));
  }
  // Time stands still while a thread runs, so a caller that waits again,
  // because its deadline is a fraction of a nanosecond later, must get on.
  until = std::max(until, scheduler->now() + 1);
  SimThread* const self = Scheduler::Self();
  PointBefore("is about to wait for", this);
  self->woken = ChoosesFailure(ChoiceKind::kWakeUp);
  const Mutex::Mode mode = mu->Release();
  scheduler->Block(Wait::kSignal, this, until,
                   [&] { return self->woken || scheduler->now() >= until; });
  const bool late = !self->woken;
  mu->CheckAlive("locked");
  mu->AwaitLock(mode);
  return late;
}

void CondVar::Signal() {
  PointBefore("signals", this);
  CheckAlive("signalled");
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return;
  const simulation::MemoryMayRunOut spared(false);
  std::vector<SimThread*> waiters;
  scheduler->ForEachWaiter(Wait::kSignal, this, [&](SimThread* waiter) {
    if (!waiter->woken) waiters.push_back(waiter);
  });
  if (waiters.empty()) return;
  waiters[scheduler->Choose(ChoiceKind::kWaiter,
                            static_cast<int>(waiters.size()))]
      ->woken = true;
}

void CondVar::SignalAll() {
  PointBefore("signals", this);
  CheckAlive("signalled");
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->ForEachWaiter(Wait::kSignal, this,
                             [](SimThread* waiter) { waiter->woken = true; });
  }
}

Notification::~Notification() {
  // As in Abseil: waits until `Notify()` has released the lock.
  mu_.Lock();
  mu_.Unlock();
}

bool Notification::HasBeenNotified() const {
  PointBefore("looks at", this);
  return notified_;
}

void Notification::Notify() {
  mu_.Lock();
  if (notified_) Die("a notification is notified twice");
  PointBefore("notifies", this);
  notified_ = true;
  mu_.Unlock();
}

void Notification::WaitForNotification() const {
  mu_.Lock();
  mu_.Await(absl::Condition(&notified_));
  mu_.Unlock();
}

void Thread::Start(absl::AnyInvocable<void() &&> function) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) Die("a thread is started");
  MakeDelayedStores();
  thread_ = scheduler->Start(std::move(function));
  PointBefore("has started", thread_);
}

void Thread::join() {
  Scheduler* const scheduler = Scheduler::Current();
  PointBefore("joins", thread_);
  if (!scheduler->Ended(thread_)) {
    scheduler->Block(Wait::kJoin, thread_, kNever,
                     [&] { return scheduler->Ended(thread_); });
  }
  thread_ = nullptr;
}

void Yield() {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    scheduler->YieldPoint();
  }
}

uint32_t RandomSeed() {
  Scheduler* const scheduler = Scheduler::Current();
  return scheduler != nullptr ? scheduler->Choose(ChoiceKind::kData, 16) : 0;
}

int64_t SteadyNanos() {
  const Scheduler* const scheduler = Scheduler::Current();
  return kBootNanos + (scheduler != nullptr ? scheduler->now() : 0);
}

int64_t CoarseSteadyNanos() {
  constexpr int64_t kTick = 4000000;
  return SteadyNanos() / kTick * kTick;
}

int64_t WallNanos() { return SteadyNanos() + kBootNanos * 1000000; }

}  // namespace workqueue::sync

#endif  // WORKQUEUE_SIMULATION
