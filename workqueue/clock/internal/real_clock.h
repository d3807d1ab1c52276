// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/real_clock.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_REAL_CLOCK_H_
#define WORKQUEUE_CLOCK_INTERNAL_REAL_CLOCK_H_

#include <cstdint>
#include <memory>

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

// Whether `absl::Mutex` measures a relative timeout on the monotonic clock.
// Releases before 20230802 turn it into a deadline on the wall clock.
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION < 20230802
#define WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK 1
#endif

namespace workqueue {
namespace internal {

// RealClock
//
// The machine's monotonic clock, shifted so that it read the wall clock's time
// when it was made. One exists, and it is never destroyed.
class RealClock final : public Clock {
 public:
  RealClock();

  absl::Time TimeNow() override;
  absl::Time CoarseTimeNow() override;
  void Sleep(absl::Duration d) override;
  void SleepUntil(absl::Time wakeup_time) override;
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override;
  std::unique_ptr<Parker> NewParker(Parker::Role role) override;

 private:
  // What this clock reads at the monotonic clock's epoch.
  absl::Time epoch() const { return absl::FromUnixNanos(epoch_ns_); }

  // The same in Unix time: a sum of integers costs less than one of an
  // `absl::Time` and an `absl::Duration`, which may be infinite.
  const int64_t epoch_ns_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_REAL_CLOCK_H_
