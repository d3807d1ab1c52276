// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <set>
#include <string>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/timer/delay_queue.h"

namespace workqueue::delay_queue_out_of_memory_test {
namespace {

#ifdef ABSL_HAVE_EXCEPTIONS

// A string that owns memory.
std::string Value(int i) {
  return "a value that owns memory, number " + std::to_string(i);
}

TEST(DelayQueueOutOfMemoryTest, TakeUpToLosesNothingWhenItCannotGrow) {
  ForEveryAllocation([] {
    constexpr int kValues = 100;
    SparedClock clock;
    auto queue = Persist([&clock] {
      DelayQueueOptions options;
      options.clock = &clock;
      return std::make_unique<DelayQueue<std::string>>(options);
    });
    std::set<std::string> left;
    for (int i = 0; i < kValues; ++i) {
      left.insert(Value(i));
      Persist([&] { queue->Push(Value(i), absl::ZeroDuration()); });
    }
    while (!left.empty()) {
      auto values = Persist([&] { return queue->TakeUpTo(kValues); });
      ASSERT_TRUE(values.ok());
      ASSERT_FALSE(values->empty());
      for (const std::string& value : *values) {
        EXPECT_EQ(left.erase(value), 1u) << value;
      }
    }
    EXPECT_EQ(queue->Len(), 0u);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::delay_queue_out_of_memory_test
