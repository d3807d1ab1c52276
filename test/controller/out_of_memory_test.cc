// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory runs out at the first, second, ... allocation of a scenario, on
// whichever thread that is: no run of a task may be lost for it.

#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/mutex_lock.h"
#include "controller/scheduler.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"

namespace controller {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(OutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using ::workqueue::ForEveryAllocation;
using ::workqueue::Persist;
using ::workqueue::Spared;
using ::workqueue::SparedClock;
using ::workqueue_internal::MutexLock;

// Returns what `f()` does, which is called again until that is no error.
template <typename F>
auto PersistUntilOk(F&& f) {
  while (true) {
    auto result = Persist(f);
    if (result.ok()) return *std::move(result);
  }
}

// Counts, with all the memory that it needs.
class Counter {
 public:
  int Count() {
    MutexLock lock(&mu_);
    return ++count_;
  }
  int count() {
    MutexLock lock(&mu_);
    return count_;
  }

 private:
  absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

TEST(OutOfMemoryTest, AScheduler) {
  ForEveryAllocation([] {
    SparedClock clock;
    Counter once, every, cancelled;
    auto scheduler = PersistUntilOk([&clock] {
      SchedulerOptions options;
      options.clock = &clock;
      return Scheduler::Create(std::move(options));
    });
    // Too large to be kept without an allocation.
    const std::string ballast(100, 'x');
    for (int i = 0; i < 4; ++i) {
      PersistUntilOk([&] {
        return scheduler->ScheduleOnce([ballast, &once] { once.Count(); },
                                       absl::Seconds(i));
      });
    }
    PersistUntilOk([&] {
      return scheduler->ScheduleEvery([ballast, &every] { every.Count(); },
                                      absl::Seconds(1));
    });
    const TaskId id = PersistUntilOk([&] {
      return scheduler->ScheduleOnce([&cancelled] { cancelled.Count(); },
                                     absl::Seconds(2));
    });
    EXPECT_TRUE(scheduler->Cancel(id));
    for (int i = 0; i < 5; ++i) clock.Step(absl::Seconds(1));
    EXPECT_TRUE(scheduler->ShutDownWithDrain());
    EXPECT_EQ(once.count(), 4);
    EXPECT_EQ(every.count(), 5);
    EXPECT_EQ(cancelled.count(), 0);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace controller
