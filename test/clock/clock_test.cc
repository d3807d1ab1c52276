// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the real clock that take no long time. Every wait here either ends
// at once or lasts a millisecond.

#include "workqueue/clock/clock.h"

#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/testing/thread.h"

namespace workqueue::clock_test {
namespace {

using internal::MutexLock;

constexpr absl::Duration kShort = absl::Milliseconds(1);

TEST(RealClockTest, ReturnsTheSameClockEachTime) {
  EXPECT_NE(Clock::GetRealClock(), nullptr);
  EXPECT_EQ(Clock::GetRealClock(), Clock::GetRealClock());
  EXPECT_EQ(OrRealClock(nullptr), Clock::GetRealClock());
}

TEST(RealClockTest, StartsAtTheWallClocksTime) {
  const absl::Duration difference =
      Clock::GetRealClock()->TimeNow() - absl::Now();
  EXPECT_LT(absl::AbsDuration(difference), absl::Minutes(1));
}

TEST(RealClockTest, NeverGoesBack) {
  Clock* clock = Clock::GetRealClock();
  absl::Time last = clock->TimeNow();
  for (int i = 0; i < 10000; ++i) {
    const absl::Time now = clock->TimeNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, CoarseTimeIsAtMostALittleEarlier) {
  Clock* clock = Clock::GetRealClock();
  for (int i = 0; i < 10000; ++i) {
    const absl::Time before = clock->TimeNow();
    const absl::Time coarse = clock->CoarseTimeNow();
    ASSERT_LE(coarse, clock->TimeNow());
    ASSERT_GT(coarse, before - absl::Seconds(1));
  }
}

TEST(RealClockTest, CoarseNanosAreTheCoarseTime) {
  Clock* clock = Clock::GetRealClock();
  for (int i = 0; i < 10000; ++i) {
    const absl::Time before = clock->CoarseTimeNow();
    const absl::Time nanos = absl::FromUnixNanos(
        internal::RealClockEpochNanos() + sync::CoarseSteadyNanos());
    ASSERT_LE(before, nanos);
    ASSERT_LE(nanos, clock->CoarseTimeNow());
  }
}

TEST(RealClockTest, SleepIsNeverTooShort) {
  Clock* clock = Clock::GetRealClock();
  absl::Time start = clock->TimeNow();
  clock->Sleep(kShort);
  EXPECT_GE(clock->TimeNow() - start, kShort);
  start = clock->TimeNow();
  clock->SleepUntil(start + kShort);
  EXPECT_GE(clock->TimeNow() - start, kShort);
  clock->Sleep(-absl::Seconds(1));
  clock->Sleep(-absl::InfiniteDuration());
  clock->SleepUntil(absl::InfinitePast());
}

TEST(RealClockTest, ParkUntilEndsAtTheDeadline) {
  Clock* clock = Clock::GetRealClock();
  auto parker = clock->NewParker(Parker::Role::kCaller);
  EXPECT_FALSE(parker->ParkUntil(absl::InfinitePast()));
  const absl::Time start = clock->TimeNow();
  EXPECT_FALSE(parker->ParkUntil(start + kShort));
  EXPECT_GE(clock->TimeNow() - start, kShort);
}

TEST(RealClockTest, UnparkEndsParkUntil) {
  auto parker = Clock::GetRealClock()->NewParker(Parker::Role::kLoop);
  parker->Unpark();
  parker->Unpark();
  EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
  Thread other([&] { parker->Unpark(); });
  EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
  other.join();
}

TEST(RealClockTest, AwaitWithDeadline) {
  Clock* clock = Clock::GetRealClock();
  absl::Mutex mu;
  bool flag = false;
  Thread setter;
  {
    MutexLock lock(&mu);
    EXPECT_FALSE(clock->AwaitWithDeadline(&mu, absl::Condition(&flag),
                                          absl::InfinitePast()));
    const absl::Time start = clock->TimeNow();
    EXPECT_FALSE(
        clock->AwaitWithDeadline(&mu, absl::Condition(&flag), start + kShort));
    EXPECT_GE(clock->TimeNow() - start, kShort);

    setter = Thread([&] {
      MutexLock lock(&mu);
      flag = true;
    });
    EXPECT_TRUE(clock->AwaitWithDeadline(&mu, absl::Condition(&flag),
                                         start + absl::Hours(1)));
    EXPECT_TRUE(clock->AwaitWithDeadline(&mu, absl::Condition(&flag),
                                         absl::InfinitePast()));
    EXPECT_TRUE(clock->AwaitWithDeadline(&mu, absl::Condition(&flag),
                                         absl::InfiniteFuture()));
  }
  setter.join();
}

// A clock that implements only the methods of `absl::Clock`.
class PlainClock : public Clock {
 public:
  absl::Time TimeNow() override { return real_->TimeNow(); }
  void Sleep(absl::Duration d) override { real_->Sleep(d); }
  void SleepUntil(absl::Time t) override { real_->SleepUntil(t); }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    return real_->AwaitWithDeadline(mu, cond, deadline);
  }

 private:
  Clock* const real_ = Clock::GetRealClock();
};

TEST(PlainClockTest, NewParkerUsesAwaitWithDeadline) {
  PlainClock clock;
  auto parker = clock.NewParker(Parker::Role::kLoop);
  EXPECT_FALSE(parker->ParkUntil(clock.TimeNow()));
  EXPECT_FALSE(parker->ParkUntil(clock.TimeNow() + kShort));
  parker->Unpark();
  parker->Unpark();
  EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
  Thread other([&] { parker->Unpark(); });
  EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
  other.join();
  EXPECT_FALSE(parker->ParkUntil(clock.TimeNow()));
}

}  // namespace
}  // namespace workqueue::clock_test
