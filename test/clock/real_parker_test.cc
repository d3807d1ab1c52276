// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the real clock's parkers: the one that this machine uses and the one
// for all other machines.

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <thread>  // NOLINT(build/c++11)

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/internal/condition_variable_parker.h"
#include "workqueue/clock/internal/futex_parker.h"
#include "workqueue/clock/internal/steady_time.h"
#include "workqueue/clock/parker.h"

namespace workqueue {
namespace internal {
namespace {

template <typename RealParker>
class RealParkerTest : public testing::Test {
 protected:
  static std::unique_ptr<Parker> New() {
    return std::make_unique<RealParker>(absl::UnixEpoch());
  }

  static absl::Time Now() { return absl::UnixEpoch() + SinceSteadyEpoch(); }
};

using RealParkers = testing::Types<
#ifdef WORKQUEUE_INTERNAL_HAVE_FUTEX_PARKER
    FutexParker,
#endif
    ConditionVariableParker>;
TYPED_TEST_SUITE(RealParkerTest, RealParkers);

TYPED_TEST(RealParkerTest, EndsAtTheDeadline) {
  const auto parker = this->New();
  EXPECT_FALSE(parker->ParkUntil(absl::InfinitePast()));
  for (int i = 0; i < 3; ++i) {
    const absl::Time deadline = this->Now() + absl::Milliseconds(1);
    EXPECT_FALSE(parker->ParkUntil(deadline));
    EXPECT_GE(this->Now(), deadline);
  }
}

TYPED_TEST(RealParkerTest, IsNotEndedByASignal) {
  struct sigaction ignore = {}, before;
  ignore.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &ignore, &before), 0);
  const auto parker = this->New();
  const absl::Time deadline = this->Now() + absl::Milliseconds(1);
  std::atomic<bool> ended{false};
  std::thread other([&ended, sleeper = pthread_self()] {
    while (!ended) pthread_kill(sleeper, SIGUSR1);
  });
  EXPECT_FALSE(parker->ParkUntil(deadline));
  EXPECT_GE(this->Now(), deadline);
  ended = true;
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TYPED_TEST(RealParkerTest, HoldsOneWakeUp) {
  const auto parker = this->New();
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::InfiniteFuture()}) {
    parker->Unpark();
    parker->Unpark();
    EXPECT_TRUE(parker->ParkUntil(deadline));
    EXPECT_FALSE(parker->ParkUntil(absl::InfinitePast()));
  }
}

TYPED_TEST(RealParkerTest, SeesWritesBeforeUnpark) {
  constexpr int kRounds = 10000;
  const auto ping = this->New(), pong = this->New();
  int ball = 0;  // guarded by the order of turns
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_TRUE(ping->ParkUntil(absl::InfiniteFuture()));
      ++ball;
      pong->Unpark();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ++ball;
    ping->Unpark();
    EXPECT_TRUE(pong->ParkUntil(this->Now() + absl::Hours(1)));
    EXPECT_EQ(ball, 2 * (i + 1));
  }
  other.join();
}

TYPED_TEST(RealParkerTest, MayBeDestroyedByTheThreadThatWakes) {
  for (int i = 0; i < 1000; ++i) {
    auto parker = this->New();
    std::thread other([p = parker.get()] { p->Unpark(); });
    EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
    parker.reset();
    other.join();
  }
}

}  // namespace
}  // namespace internal
}  // namespace workqueue
