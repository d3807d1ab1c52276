// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/await_parker.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_AWAIT_PARKER_H_
#define WORKQUEUE_CLOCK_INTERNAL_AWAIT_PARKER_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace workqueue {
namespace internal {

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
  absl::Mutex mu_;
  bool unparked_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_AWAIT_PARKER_H_
