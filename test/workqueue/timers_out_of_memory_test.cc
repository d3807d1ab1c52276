// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <memory>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/executor.h"
#include "workqueue/timers.h"

namespace workqueue::timers_out_of_memory_test {
namespace {

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(TimersOutOfMemoryTest, EachCallbackIsCalledOnce) {
  ForEveryAllocation([] {
    constexpr int kCallbacks = 200;
    SparedClock clock;
    InlineExecutor executor;
    std::atomic<int> due{0};
    std::atomic<int> shut_down{0};
    const auto count = [&](const absl::Status& status) {
      ++(status.ok() ? due : shut_down);
    };
    auto timers = Persist([&clock] {
      TimersOptions options;
      options.clock = &clock;
      return std::make_unique<Timers>(options);
    });
    for (int i = 1; i <= kCallbacks; ++i) {
      Persist(
          [&] { timers->CallAfter(i * absl::Seconds(1), &executor, count); });
    }
    clock.Step(kCallbacks / 2 * absl::Seconds(1));
    EXPECT_EQ(due, kCallbacks / 2);
    timers.reset();
    EXPECT_EQ(due, kCallbacks / 2);
    EXPECT_EQ(shut_down, kCallbacks / 2);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::timers_out_of_memory_test
