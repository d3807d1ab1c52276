// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who waits on the real clock until a deadline does so without memory, too.

#include <cstdint>
#include <limits>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/internal/counted_heap.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/mutex_lock.h"

namespace workqueue {
namespace {

using ::workqueue::CountedHeap;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// Returns what a wait for nothing returns.
bool AwaitNothing() {
  absl::Mutex mu;
  bool never = false;
  Clock* const clock = Clock::GetRealClock();
  internal::MutexLock lock(&mu);
  return clock->AwaitWithDeadline(&mu, absl::Condition(&never),
                                  clock->TimeNow() + absl::Milliseconds(1));
}

// Of as many allocations as any wait makes, these fail: those of the first one,
// which may start a thread; those of a later one; and those of the thread.
TEST(WaitWithoutMemoryTest, AwaitWithDeadlineEnds) {
  Clock::GetRealClock();
  CountedHeap::Fail(/*first=*/1, kAll);
  EXPECT_FALSE(AwaitNothing());
  CountedHeap::StopFailing();

  EXPECT_FALSE(AwaitNothing());
  for (int64_t first = 1; first < 4; ++first) {
    CountedHeap::Fail(first, kAll);
    EXPECT_FALSE(AwaitNothing());
    CountedHeap::StopFailing();
  }
}

}  // namespace
}  // namespace workqueue
