// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the first, second, ... allocation of a scenario fails, on any
// thread. No run of a task may be lost because of the failure.

#include <atomic>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(OutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using ::workqueue::ForEveryAllocation;
using ::workqueue::PersistUntilOk;
using ::workqueue::SparedClock;

TEST(OutOfMemoryTest, AScheduler) {
  ForEveryAllocation([] {
    SparedClock clock;
    std::atomic<int> once{0}, every{0}, cancelled{0};
    auto scheduler = PersistUntilOk([&clock] {
      SchedulerOptions options;
      options.clock = &clock;
      return Scheduler::Create(std::move(options));
    });
    // So large that a function that captures it allocates memory.
    const std::string ballast(100, 'x');
    for (int i = 0; i < 4; ++i) {
      PersistUntilOk([&] {
        return scheduler->ScheduleOnce([ballast, &once] { ++once; },
                                       absl::Seconds(i));
      });
    }
    PersistUntilOk([&] {
      return scheduler->ScheduleEvery([ballast, &every] { ++every; },
                                      absl::Seconds(1));
    });
    const TaskId id = PersistUntilOk([&] {
      return scheduler->ScheduleOnce([&cancelled] { ++cancelled; },
                                     absl::Seconds(2));
    });
    EXPECT_TRUE(scheduler->Cancel(id));
    for (int i = 0; i < 5; ++i) clock.Step(absl::Seconds(1));
    EXPECT_TRUE(scheduler->ShutDownWithDrain());
    EXPECT_EQ(once, 4);
    EXPECT_EQ(every, 5);
    EXPECT_EQ(cancelled, 0);
  });
}

TEST(OutOfMemoryTest, TheEndOfAScheduler) {
  for (const bool shuts_down : {false, true}) {
    ForEveryAllocation([shuts_down] {
      SparedClock clock;
      auto scheduler = PersistUntilOk([&clock] {
        SchedulerOptions options;
        options.clock = &clock;
        return Scheduler::Create(std::move(options));
      });
      for (int i = 0; i < 2; ++i) {
        PersistUntilOk(
            [&] { return scheduler->ScheduleOnce([] {}, absl::Hours(1)); });
      }
      const Spared spared(false);
      if (shuts_down) scheduler->ShutDown();
      scheduler.reset();
    });
  }
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
