// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/absl_clock_adapter.h"

#include "gtest/gtest.h"

#ifdef WORKQUEUE_HAVE_ABSL_CLOCK

#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock_interface.h"
#include "absl/time/simulated_clock.h"
#include "absl/time/time.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(FromAbslClockTest, FollowsASimulatedClock) {
  absl::SimulatedClock simulated(kStart);
  FromAbslClock clock(&simulated);
  EXPECT_EQ(clock.TimeNow(), kStart);
  simulated.AdvanceTime(absl::Seconds(1));
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Seconds(1));

  absl::Mutex mu;
  const bool flag = true;
  {
    absl::MutexLock lock(mu);
    EXPECT_TRUE(clock.AwaitWithDeadline(&mu, absl::Condition(&flag),
                                        absl::InfinitePast()));
  }
  clock.SleepUntil(kStart);
  clock.Sleep(absl::ZeroDuration());
}

TEST(FromAbslClockTest, ParksOnASimulatedClock) {
  absl::SimulatedClock simulated(kStart);
  FromAbslClock clock(&simulated);
  auto parker = clock.NewParker(Parker::Role::kLoop);
  bool unparked = true;
  Thread thread(
      [&] { unparked = parker->ParkUntil(kStart + absl::Seconds(1)); });
  // This moves only the simulated clock. It makes no difference whether the
  // thread parks before or after it.
  simulated.AdvanceTime(absl::Seconds(1));
  thread.join();
  EXPECT_FALSE(unparked);
}

TEST(ToAbslClockTest, FollowsAFakeClock) {
  FakeClock fake(kStart);
  ToAbslClock adapter(&fake);
  absl::Clock& clock = adapter;
  EXPECT_EQ(clock.TimeNow(), kStart);
  Thread sleeper([&] { clock.Sleep(absl::Seconds(2)); });
  fake.AwaitWaiters(1);
  fake.Step(absl::Seconds(2));
  sleeper.join();
  EXPECT_EQ(clock.TimeNow(), kStart + absl::Seconds(2));
  clock.SleepUntil(kStart);

  absl::Mutex mu;
  const bool flag = false;
  absl::MutexLock lock(mu);
  EXPECT_FALSE(clock.AwaitWithDeadline(&mu, absl::Condition(&flag), kStart));
}

}  // namespace
}  // namespace workqueue

#else

TEST(AbslClockAdapterTest, NeedsAbslClock) {
  GTEST_SKIP() << "this Abseil has no absl::Clock";
}

#endif  // WORKQUEUE_HAVE_ABSL_CLOCK
