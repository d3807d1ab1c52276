// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// On the real clock, only a loop's thread waits with a minimal timer slack. A
// caller's thread waits with its own slack. This program stands between the
// library and the C library, and records the slack of a thread that waits.

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)

TEST(TimerSlackTest, NeedsThisFunction) {
  GTEST_SKIP() << "the sanitizer may have replaced it itself";
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"

namespace {

constexpr int kOwnSlack = 12345;

int Slack() { return prctl(PR_GET_TIMERSLACK); }

// The slack during the last timed wait of this thread.
thread_local int slack_in_wait = 0;

}  // namespace

// The standard library's condition variables wait by this.
extern "C" int pthread_cond_clockwait(pthread_cond_t* cond,
                                      pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* deadline) {
  slack_in_wait = Slack();
  static auto* const next = reinterpret_cast<decltype(&pthread_cond_clockwait)>(
      dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  return next(cond, mutex, clock, deadline);
}

namespace workqueue {
namespace {

class TimerSlackTest : public testing::Test {
 protected:
  // Runs `test` in a new thread, which has a slack of its own.
  template <typename F>
  static void InNewThread(F test) {
    Thread([&test] {
      prctl(PR_SET_TIMERSLACK, kOwnSlack);
      test();
    }).join();
  }

  // Calls `wait(delay)` with longer and longer delays, until a call waits: a
  // short delay may be over before the wait begins.
  template <typename F>
  static void WaitUntilSeen(F wait) {
    slack_in_wait = 0;
    for (absl::Duration d = absl::Milliseconds(1); slack_in_wait == 0; d *= 2) {
      ASSERT_LT(d, absl::Minutes(1));
      wait(d);
    }
  }

  static void Park(Parker::Role role) {
    const auto parker = clock()->NewParker(role);
    WaitUntilSeen([&parker](absl::Duration d) {
      parker->ParkUntil(clock()->TimeNow() + d);
    });
  }

  static Clock* clock() { return Clock::GetRealClock(); }
};

TEST_F(TimerSlackTest, ACallersThreadParksWithItsOwn) {
  InNewThread([] {
    Park(Parker::Role::kCaller);
    EXPECT_EQ(slack_in_wait, kOwnSlack);
    EXPECT_EQ(Slack(), kOwnSlack);
  });
}

TEST_F(TimerSlackTest, ACallersThreadSleepsWithItsOwn) {
  InNewThread([] {
    WaitUntilSeen([](absl::Duration d) { clock()->Sleep(d); });
    EXPECT_EQ(slack_in_wait, kOwnSlack);
    WaitUntilSeen(
        [](absl::Duration d) { clock()->SleepUntil(clock()->TimeNow() + d); });
    EXPECT_EQ(slack_in_wait, kOwnSlack);
    EXPECT_EQ(Slack(), kOwnSlack);
  });
}

TEST_F(TimerSlackTest, ALoopsThreadHasTheLeast) {
  InNewThread([] {
    Park(Parker::Role::kLoop);
    EXPECT_EQ(slack_in_wait, 1);
    EXPECT_EQ(Slack(), 1);
    Park(Parker::Role::kLoop);
    EXPECT_EQ(slack_in_wait, 1);
  });
}

// The role is that of the thread which parks, not of the one which makes the
// parker.
TEST_F(TimerSlackTest, WhoMakesAndUnparksALoopsParkerKeepsItsOwn) {
  InNewThread([] {
    const auto parker = clock()->NewParker(Parker::Role::kLoop);
    Thread loop([&parker] { parker->ParkUntil(absl::InfiniteFuture()); });
    parker->Unpark();
    loop.join();
    EXPECT_EQ(Slack(), kOwnSlack);
  });
}

}  // namespace
}  // namespace workqueue

#endif  // no sanitizer
