// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/clock/internal/condition_variable_parker.h"

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

#include <atomic>
#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/parker.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace internal::condition_variable_parker_test {
namespace {

class ConditionVariableParkerTest : public testing::Test {
 protected:
  static std::unique_ptr<Parker> New() {
    return std::make_unique<ConditionVariableParker>(absl::UnixEpoch(),
                                                     Parker::Role::kCaller);
  }

  static absl::Time Now() { return absl::FromUnixNanos(sync::SteadyNanos()); }
};

TEST_F(ConditionVariableParkerTest, EndsAtTheDeadline) {
  const auto parker = New();
  EXPECT_FALSE(parker->ParkUntil(absl::InfinitePast()));
  for (int i = 0; i < 3; ++i) {
    const absl::Time deadline = Now() + absl::Milliseconds(1);
    EXPECT_FALSE(parker->ParkUntil(deadline));
    EXPECT_GE(Now(), deadline);
  }
}

#ifndef _WIN32  // It has no signals that end a wait.
TEST_F(ConditionVariableParkerTest, IsNotEndedByASignal) {
  struct sigaction ignore = {}, before;
  ignore.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &ignore, &before), 0);
  const auto parker = New();
  const absl::Time deadline = Now() + absl::Milliseconds(1);
  std::atomic<bool> ended{false};
  Thread other([&ended, sleeper = pthread_self()] {
    while (!ended) pthread_kill(sleeper, SIGUSR1);
  });
  EXPECT_FALSE(parker->ParkUntil(deadline));
  EXPECT_GE(Now(), deadline);
  ended = true;
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
}
#endif

TEST_F(ConditionVariableParkerTest, HoldsOneWakeUp) {
  const auto parker = New();
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::InfiniteFuture()}) {
    parker->Unpark();
    parker->Unpark();
    EXPECT_TRUE(parker->ParkUntil(deadline));
    EXPECT_FALSE(parker->ParkUntil(absl::InfinitePast()));
  }
}

TEST_F(ConditionVariableParkerTest, SeesWritesBeforeUnpark) {
  constexpr int kRounds = 10000;
  const auto ping = New(), pong = New();
  int ball = 0;  // guarded by the order of turns
  Thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_TRUE(ping->ParkUntil(absl::InfiniteFuture()));
      ++ball;
      pong->Unpark();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ++ball;
    ping->Unpark();
    EXPECT_TRUE(pong->ParkUntil(Now() + absl::Hours(1)));
    EXPECT_EQ(ball, 2 * (i + 1));
  }
  other.join();
}

TEST_F(ConditionVariableParkerTest, MayBeDestroyedByTheThreadThatWakes) {
  for (int i = 0; i < 1000; ++i) {
    auto parker = New();
    Thread other([p = parker.get()] { p->Unpark(); });
    EXPECT_TRUE(parker->ParkUntil(absl::InfiniteFuture()));
    parker.reset();
    other.join();
  }
}

}  // namespace
}  // namespace internal::condition_variable_parker_test
}  // namespace workqueue
