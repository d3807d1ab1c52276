// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what happens if the machine's clocks jump while the library waits. This
// program replaces functions of the C library and shifts the times that the
// clocks return. (The kernel's own waits use the true clocks, as they do when a
// clock is set.)

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/clock/clock.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"

namespace {

std::atomic<int> wall_shift_seconds{0};
std::atomic<int> monotonic_shift_seconds{0};

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);  // NOLINT
  if (clock == CLOCK_REALTIME) {
    now->tv_sec += wall_shift_seconds;
  } else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) {
    now->tv_sec += monotonic_shift_seconds;
  }
  return static_cast<int>(result);
}

}  // extern "C"

namespace workqueue {
namespace {

constexpr absl::Duration kDelay = absl::Milliseconds(50);
// Much longer than anything here takes, and much shorter than the jumps of the
// clocks.
constexpr absl::Duration kPatience = absl::Minutes(1);

// Returns the time of a clock that does not jump.
absl::Duration Elapsed() {
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

// Expects that `f` takes `kDelay`, or slightly longer, in true time.
template <typename F>
void ExpectOnTime(F f) {
  const absl::Duration start = Elapsed();
  f();
  EXPECT_GE(Elapsed() - start, kDelay);
  EXPECT_LT(Elapsed() - start, kPatience);
}

class WallClockJumpTest : public testing::TestWithParam<int> {
 protected:
  ~WallClockJumpTest() override { wall_shift_seconds = 0; }

  // Sets the wall clock while something waits.
  void Jump() { wall_shift_seconds = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(AnHour, WallClockJumpTest,
                         testing::Values(3600, -3600), [](const auto& info) {
                           return info.param > 0 ? "Forward" : "Back";
                         });

TEST_P(WallClockJumpTest, IsSeenByThisTest) {
  // absl::Now() sees a jump only after a while.
  const auto now = [] {
    return absl::FromChrono(std::chrono::system_clock::now());
  };
  const absl::Time before = now();
  Jump();
  EXPECT_GT(absl::AbsDuration(now() - before), absl::Minutes(50));
}

TEST_P(WallClockJumpTest, DelaysAreUnaffected) {
  RateLimitingQueue<int> queue;
  ExpectOnTime([&] {
    queue.AddAfter(1, kDelay);
    Jump();
    EXPECT_EQ(queue.Get(), 1);
  });
}

TEST_P(WallClockJumpTest, TimeoutsAreUnaffected) {
  RateLimitingQueue<int> queue;
  ExpectOnTime([&] {
    Thread getter([&queue] {
      EXPECT_TRUE(
          absl::IsDeadlineExceeded(queue.GetWithTimeout(kDelay).status()));
    });
    Jump();
    getter.join();
  });
}

TEST_P(WallClockJumpTest, DelaysInADelayQueueAreUnaffected) {
  DelayQueue<int> queue;
  ExpectOnTime([&] {
    queue.Push(1, kDelay);
    Jump();
    EXPECT_EQ(queue.Take(), 1);
  });
}

TEST_P(WallClockJumpTest, PeriodsAreUnaffected) {
  auto scheduler = Scheduler::Create();
  ASSERT_TRUE(scheduler.ok());
  constexpr int kRuns = 5;
  absl::BlockingCounter runs(kRuns);
  std::atomic<int> left{kRuns};
  ExpectOnTime([&] {
    ASSERT_TRUE((*scheduler)
                    ->ScheduleEvery(
                        [&] {
                          if (left-- > 0) runs.DecrementCount();
                        },
                        kDelay / kRuns)
                    .ok());
    Jump();
    runs.Wait();
  });
}

// The calls of a shared queue, with and without company, its delays and its
// timeouts.
class SharedQueueJumpTest : public RedisFixture {
 protected:
  ~SharedQueueJumpTest() override { wall_shift_seconds = 0; }
};

TEST_F(SharedQueueJumpTest, IsUnaffected) {
  SharedQueueOptions<int> options;
  options.name = "q";
  options.redis.address = server()->socket_path();
  auto created = SharedQueue<int>::Create(options);
  ASSERT_TRUE(created.ok()) << created.status();
  auto& queue = **created;
  for (int shift : {3600, -3600}) {
    ExpectOnTime([&] {
      queue.AddAfter(1, kDelay);
      std::vector<Thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&queue] {
          for (int i = 0; i < 50; ++i) EXPECT_TRUE(queue.Add(2));
        });
      }
      wall_shift_seconds = shift;
      for (Thread& thread : threads) thread.join();
      EXPECT_TRUE(queue.Add(2));
      // On a busy machine 1 is due before a thread adds 2.
      const std::optional<int> first = queue.Get();
      EXPECT_THAT((std::vector{first, queue.Get()}),
                  testing::UnorderedElementsAre(1, 2));
      EXPECT_TRUE(absl::IsDeadlineExceeded(
          queue.GetWithTimeout(absl::Milliseconds(1)).status()));
      EXPECT_TRUE(queue.Done(1));
      EXPECT_TRUE(queue.Done(2));
    });
  }
}

void ExpectThatItemsCameDue() {
  RateLimitingQueue<int> queue;
  DelayQueue<int> delay_queue;
  queue.AddAfter(1, absl::Minutes(59));
  queue.AddAfter(2, absl::Hours(2));
  delay_queue.Push(1, absl::Minutes(59));
  delay_queue.Push(2, absl::Hours(2));
  monotonic_shift_seconds = 3600;
  const absl::Duration start = Elapsed();
  EXPECT_EQ(queue.Get(), 1);
  EXPECT_EQ(delay_queue.Take(), 1);
  EXPECT_LT(Elapsed() - start, kPatience);
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue.TryGet().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(delay_queue.TryTake().status()));
}

// Simulates a machine that was suspended while its monotonic clock went on, or
// that stopped for an hour for another reason. All items that became due come
// at the next wake-up, which an add or the heartbeat causes. Has a process of
// its own, because a monotonic clock never goes back.
TEST(MonotonicClockJumpTest, ItemsThatBecameDueAreHandedOut) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ExpectThatItemsCameDue();
        _exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace workqueue
