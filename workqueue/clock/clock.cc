// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/clock.h"

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/alarm.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace {

// AwaitParker
//
// A `Parker` that works with every `Clock`, because it needs only the clock's
// `AwaitWithDeadline()`. It does not own the clock.
class AwaitParker final : public Parker {
 public:
  explicit AwaitParker(Clock* clock) : clock_(clock) {}

  bool ParkUntil(absl::Time deadline) override {
    internal::MutexLock lock(&mu_);
    clock_->AwaitWithDeadline(&mu_, absl::Condition(&unparked_), deadline);
    const bool unparked = unparked_;
    unparked_ = false;
    return unparked;
  }

  void Unpark() override {
    internal::MutexLock lock(&mu_);
    unparked_ = true;
  }

 private:
  Clock* const clock_;
  sync::Mutex mu_;
  bool unparked_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

std::unique_ptr<Parker> Clock::NewParker(Parker::Role) {
  return std::make_unique<AwaitParker>(this);
}

std::unique_ptr<Alarm> Clock::NewAlarm(std::function<void()>) {
  return nullptr;
}

}  // namespace workqueue
