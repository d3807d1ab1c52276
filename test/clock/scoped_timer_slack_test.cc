// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a wait on the real clock is not delayed so that several timers can
// expire together. This program replaces a function of the C library and reads
// the timer slack with which a thread waits.

#include "workqueue/clock/internal/scoped_timer_slack.h"

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)

TEST(ScopedTimerSlackTest, NeedsThisFunction) {
  GTEST_SKIP() << "the sanitizer may have replaced it itself";
}

#else

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdarg>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace {

constexpr int kOwnSlack = 12345;

int Slack() { return prctl(PR_GET_TIMERSLACK); }

// The timer slack in this thread's latest wait.
thread_local int slack_in_wait = 0;

}  // namespace

extern "C" long syscall(long number, ...) noexcept {  // NOLINT(runtime/int)
  va_list args;
  va_start(args, number);
  long a[6];                                     // NOLINT(runtime/int)
  for (long& arg : a) arg = va_arg(args, long);  // NOLINT(runtime/int)
  va_end(args);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
    slack_in_wait = Slack();
  }
  static auto* const next =
      reinterpret_cast<decltype(&syscall)>(dlsym(RTLD_NEXT, "syscall"));
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

namespace workqueue {
namespace {

class ScopedTimerSlackTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = Slack();
    prctl(PR_SET_TIMERSLACK, kOwnSlack);
  }
  void TearDown() override { prctl(PR_SET_TIMERSLACK, before_); }

 private:
  int before_ = 0;
};

TEST_F(ScopedTimerSlackTest, RestoresTheSlackOfTheThread) {
  {
    internal::ScopedTimerSlack precise_timers;
    EXPECT_EQ(Slack(), 1);
    {
      internal::ScopedTimerSlack once_more;
      EXPECT_EQ(Slack(), 1);
    }
    EXPECT_EQ(Slack(), 1);
  }
  EXPECT_EQ(Slack(), kOwnSlack);
}

TEST_F(ScopedTimerSlackTest, TheRealClockSleepsWithoutSlack) {
  Clock* const clock = Clock::GetRealClock();
  // Repeats until a sleep was not over before it began.
  for (absl::Duration d = absl::Milliseconds(1); slack_in_wait == 0; d *= 2) {
    ASSERT_LT(d, absl::Minutes(1));
    clock->Sleep(d);
  }
  EXPECT_EQ(slack_in_wait, 1);
  EXPECT_EQ(Slack(), kOwnSlack);
}

}  // namespace
}  // namespace workqueue

#endif  // no sanitizer
