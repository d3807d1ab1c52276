// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a wait on the real clock until a deadline works even if there is
// no memory.

#include <cstdint>
#include <limits>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"

namespace workqueue::wait_without_memory_test {
namespace {

using ::workqueue::CountedHeap;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// Waits for a condition that never holds, and returns the result.
bool AwaitNothing() {
  absl::Mutex mu;
  bool never = false;
  Clock* const clock = Clock::GetRealClock();
  internal::MutexLock lock(&mu);
  return clock->AwaitWithDeadline(&mu, absl::Condition(&never),
                                  clock->TimeNow() + absl::Milliseconds(1));
}

// Makes the allocations of three kinds fail: those of the first wait, which may
// start a thread, those of a later wait, and those of the thread. The number is
// at least that of any wait.
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
}  // namespace workqueue::wait_without_memory_test
