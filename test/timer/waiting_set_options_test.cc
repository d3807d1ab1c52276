// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_set_options.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace workqueue::waiting_set_options_test {
namespace {

TEST(WaitingSetOptionsTest, AHeapByDefault) {
  EXPECT_FALSE(WaitingSetOptions().is_timing_wheel());
}

TEST(WaitingSetOptionsTest, ATimingWheel) {
  const WaitingSetOptions options =
      *WaitingSetOptions::TimingWheel(absl::Seconds(1), 3600);
  EXPECT_TRUE(options.is_timing_wheel());
  EXPECT_EQ(options.tick(), absl::Seconds(1));
  EXPECT_EQ(options.slots(), 3600u);
  EXPECT_TRUE(WaitingSetOptions::TimingWheel()->is_timing_wheel());
}

TEST(WaitingSetOptionsTest, TicksAreWholeNanoseconds) {
  EXPECT_EQ(WaitingSetOptions::TimingWheel(absl::Nanoseconds(2.75))->tick(),
            absl::Nanoseconds(2));
}

TEST(WaitingSetOptionsTest, BadTicksAndSlotsAreErrors) {
  const auto error = [](absl::Duration tick, size_t slots) {
    const absl::Status status =
        WaitingSetOptions::TimingWheel(tick, slots).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  EXPECT_EQ(error(absl::ZeroDuration(), 4),
            "tick is 0; it must be from 1ns to 24h");
  EXPECT_EQ(error(-absl::Seconds(1), 4),
            "tick is -1s; it must be from 1ns to 24h");
  EXPECT_EQ(error(absl::Nanoseconds(0.5), 4),
            "tick is 0.5ns; it must be from 1ns to 24h");
  EXPECT_EQ(error(absl::Hours(24) + absl::Nanoseconds(1), 4),
            "tick is 24h0.000000001s; it must be from 1ns to 24h");
  EXPECT_EQ(error(absl::InfiniteDuration(), 4),
            "tick is inf; it must be from 1ns to 24h");
  EXPECT_EQ(error(absl::Seconds(1), 0),
            "slots is 0; it must be from 2 to 1000000");
  EXPECT_EQ(error(absl::Seconds(1), 1),
            "slots is 1; it must be from 2 to 1000000");
  EXPECT_EQ(error(absl::Seconds(1), 1000001),
            "slots is 1000001; it must be from 2 to 1000000");
}

}  // namespace
}  // namespace workqueue::waiting_set_options_test
