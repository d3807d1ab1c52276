// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that no wait on the real clock depends on the wall clock.

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)

TEST(MonotonicWaitTest, NeedsTheseFunctions) {
  GTEST_SKIP() << "the sanitizer has replaced them itself";
}

#else

#include <pthread.h>
#include <time.h>

#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "test/clock/counted_waits.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"

namespace workqueue {
namespace {

using internal::MutexLock;

int Waits() { return wall_clock_waits + monotonic_waits; }

// Calls `wait` with longer and longer delays, until a delay was not over before
// the wait began.
template <typename F>
void WaitUntilSeen(F wait) {
  const int before = Waits();
  absl::Duration delay = absl::Milliseconds(1);
  for (; Waits() == before; delay *= 2) {
    ASSERT_LT(delay, absl::Minutes(1)) << "there is no wait to be seen";
    wait(delay);
  }
}

class MonotonicWaitTest : public testing::Test {
 protected:
  void SetUp() override {
    wall_clock_waits = 0;
    monotonic_waits = 0;
  }

  void TearDown() override {
    EXPECT_EQ(wall_clock_waits, 0);
    EXPECT_GT(monotonic_waits, 0);
  }

  template <typename F>
  void WaitUntilSoon(F wait) {
    WaitUntilSeen(
        [&](absl::Duration delay) { wait(clock_->TimeNow() + delay); });
  }

  Clock* const clock_ = Clock::GetRealClock();
};

TEST_F(MonotonicWaitTest, Sleep) { clock_->Sleep(absl::Milliseconds(1)); }

TEST_F(MonotonicWaitTest, SleepUntil) {
  WaitUntilSoon([this](absl::Time soon) { clock_->SleepUntil(soon); });
}

TEST_F(MonotonicWaitTest, ParkUntil) {
  WaitUntilSoon([this](absl::Time soon) {
    EXPECT_FALSE(clock_->NewParker(Parker::Role::kLoop)->ParkUntil(soon));
  });
}

TEST_F(MonotonicWaitTest, AwaitWithDeadline) {
  absl::Mutex mu;
  const bool never = false;
  MutexLock lock(&mu);
  WaitUntilSoon([&](absl::Time soon) {
    EXPECT_FALSE(clock_->AwaitWithDeadline(&mu, absl::Condition(&never), soon));
  });
}

// Checks that the test notices a wait on the wall clock.
TEST(MonotonicWaitTestTest, NoticesTheWallClock) {
  wall_clock_waits = 0;
  timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&cond, &mutex, &soon);
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(wall_clock_waits, 1);

  // Releases of Abseil before 20230802 wait on the wall clock. Later releases
  // wait on the clock given here.
  absl::Mutex mu;
  const bool never = false;
  MutexLock lock(&mu);
  WaitUntilSeen([&](absl::Duration delay) {
    mu.AwaitWithTimeout(absl::Condition(&never), delay);
  });
}

}  // namespace
}  // namespace workqueue

#endif  // no sanitizer
