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

// Defined if `absl::Mutex` turns a relative timeout into a deadline on the wall
// clock. Releases since 20230802 measure it on the monotonic clock.
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION < 20230802
#define WORKQUEUE_INTERNAL_ABSL_WAITS_ON_WALL_CLOCK 1
#endif

namespace workqueue {
namespace internal {

// RealClock
//
// This class is the machine's monotonic clock, plus a constant: it reads the
// time of the wall clock at its construction. There is one instance, which is
// never destroyed.
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

  // The time of this clock at the epoch of the monotonic clock, in Unix time.
  int64_t epoch_nanos() const { return epoch_ns_; }

 private:
  // The time of this clock at the epoch of the monotonic clock.
  absl::Time epoch() const { return absl::FromUnixNanos(epoch_ns_); }

  // `epoch()` in Unix time. Adding integers is cheaper than adding an
  // `absl::Duration` to an `absl::Time`, which may be infinite.
  const int64_t epoch_ns_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CLOCK_INTERNAL_REAL_CLOCK_H_
