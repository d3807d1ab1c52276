// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a step of the machine's wall clock changes no wait on the real
// clock, and that `WallDeadline()` follows the step. This program replaces
// clock_gettime(), so that it can step the wall clock.

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)

TEST(WallClockStepTest, NeedsClockGettime) {
  GTEST_SKIP() << "the sanitizer has replaced clock_gettime() itself";
}

#else

#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/delaying_queue.h"

namespace {

// How far the wall clock has been stepped, in seconds.
std::atomic<time_t> step{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto next = reinterpret_cast<decltype(clock_gettime)*>(
      dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = next(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += step;
  return result;
}

namespace workqueue {
namespace {

using Steady = std::chrono::steady_clock;

constexpr absl::Duration kSoon = absl::Milliseconds(20);

// Calls `wait`, and checks that it blocks for about `kSoon`.
template <typename F>
void ExpectToBlockSoon(F wait) {
  const Steady::time_point begin = Steady::now();
  wait();
  const absl::Duration blocked = absl::FromChrono(Steady::now() - begin);
  EXPECT_GE(blocked, kSoon);
  EXPECT_LT(blocked, absl::Minutes(10));
}

// Each test runs with a step of as many seconds as its parameter says.
class WallClockStepTest : public testing::TestWithParam<int> {
 protected:
  // The real clock must have been used before the wall clock is stepped.
  void SetUp() override { Clock::GetRealClock()->TimeNow(); }
  void TearDown() override { step = 0; }

  static void StepWallClock() { step = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Hours, WallClockStepTest, testing::Values(3600, -3600),
                         [](const testing::TestParamInfo<int>& info) {
                           return info.param > 0 ? "Forward" : "Back";
                         });

// Checks that the step is seen by those who ask the wall clock.
TEST_P(WallClockStepTest, StepsTheWallClockOnly) {
  const absl::Time before = absl::Now();
  const absl::Time clock_before = Clock::GetRealClock()->TimeNow();
  StepWallClock();
  EXPECT_GT(absl::AbsDuration(absl::Now() - before), absl::Minutes(50));
  EXPECT_LT(Clock::GetRealClock()->TimeNow() - clock_before, absl::Minutes(10));
}

TEST_P(WallClockStepTest, StopBlocksForItsTimeout) {
  absl::Notification begun;
  absl::Notification release;
  ControllerOptions<std::string> options;
  options.reconcile = [&](const std::string&) {
    begun.Notify();
    release.WaitForNotification();
    return absl::OkStatus();
  };
  auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  controller->queue().Add("key");
  begun.WaitForNotification();
  StepWallClock();
  ExpectToBlockSoon([&] { EXPECT_FALSE(controller->Stop(kSoon)); });
  release.Notify();
}

TEST_P(WallClockStepTest, AReconciliationHasItsTime) {
  absl::Duration remaining;
  absl::Duration wall_remaining;
  ControllerOptions<std::string> options;
  options.reconcile_timeout = absl::Hours(2);
  options.reconcile = [&](const std::string&,
                          const ReconcileContext& context) -> ReconcileResult {
    StepWallClock();
    remaining = context.Remaining();
    wall_remaining = context.WallDeadline() - absl::Now();
    return {};
  };
  auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  controller->queue().Add("key");
  EXPECT_TRUE(controller->Stop());
  for (const absl::Duration time : {remaining, wall_remaining}) {
    EXPECT_LE(time, absl::Hours(2));
    EXPECT_GT(time, absl::Hours(2) - absl::Minutes(10));
  }
}

TEST_P(WallClockStepTest, ASourceSleepsForItsTime) {
  ControllerOptions<std::string> options;
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  Source<std::string> source;
  source.run = [](const SourceContext<std::string>& context) {
    StepWallClock();
    ExpectToBlockSoon([&] { EXPECT_TRUE(context.Sleep(kSoon)); });
    context.mark_synced();
    return absl::OkStatus();
  };
  source.wait_for_sync = true;
  options.sources.push_back(std::move(source));
  auto controller = *Controller<std::string>::Create(std::move(options));
  EXPECT_TRUE(controller->Start().ok());
}

TEST_P(WallClockStepTest, AQueueKeepsItsTimes) {
  DelayingQueue<std::string> queue;
  StepWallClock();
  ExpectToBlockSoon([&] {
    EXPECT_TRUE(absl::IsDeadlineExceeded(queue.GetWithTimeout(kSoon).status()));
  });
  ExpectToBlockSoon([&] {
    queue.AddAfter("key", kSoon);
    EXPECT_EQ(queue.Get(), "key");
  });
}

}  // namespace
}  // namespace workqueue

#endif  // no sanitizer
