// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_set.h"

#include <algorithm>
#include <memory>

#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/slab.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/timing_wheel.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::internal {
namespace {

// How far the time may come from the start of a heap or a wheel, which can
// store times that are twice as far away.
constexpr absl::Duration kReach = absl::Hours(24 * 365 * 146);

}  // namespace

WaitingSet::WaitingSet(const WaitingSetOptions& options, Clock* clock)
    : clock_(clock),
      latest_(FiniteTime(clock->TimeNow())),
      end_(latest_ + kReach),
      heap_(latest_) {
  if (!options.is_timing_wheel()) return;
  wheel_ =
      std::make_unique<TimingWheel>(latest_, options.tick(), options.slots());
}

absl::Time WaitingSet::FollowJump(SlabId id, absl::Time due_at,
                                  absl::Time now) {
  bool went_back = now < due_at && due_at <= latest_;
  if (went_back) {
    // Two threads that have read the clock may take the lock in the opposite
    // order. But all times that the set has been told were read before this
    // moment. So the clock shows an earlier time only if it has gone back.
    now = clock_->TimeNow();
    went_back = now < latest_;
  }
  now = FiniteTime(now);
  if (went_back || now > end_) {
    wheel_ ? wheel_->Restart(now) : heap_.Restart(now);
    latest_ = now;
    end_ = now + kReach;
    // The rings of the wheel that were made for `id` may not reach it any more.
    if (wheel_) TryCall([&] { wheel_->Reserve(id, due_at); });
  }
  latest_ = std::max(latest_, now);
  return now;
}

}  // namespace workqueue::internal
