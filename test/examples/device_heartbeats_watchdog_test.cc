// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "examples/device_heartbeats/watchdog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/delay_queue.h"

namespace device_heartbeats::device_heartbeats_watchdog_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kNs = absl::Nanoseconds(1);

class WatchdogTest : public ::testing::Test {
 protected:
  WatchdogTest() { Watch(1); }

  void Watch(size_t devices) {
    workqueue::DelayQueueOptions options;
    options.clock = &clock_;
    watchdog_.emplace(devices, kTimeout, options, &alarms_);
  }

  // Returns once all alarms have been raised.
  void Step(absl::Duration d) {
    clock_.AwaitWaiters(1);
    clock_.Step(d);
    clock_.AwaitWaiters(1);
  }

  auto AlarmAt(absl::Duration d, size_t device) {
    return AllOf(Field("time", &Alarm::time, start_ + d),
                 Field("device", &Alarm::device, device));
  }

  workqueue::FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
  std::vector<Alarm> alarms_;
  std::optional<Watchdog> watchdog_;
};

TEST_F(WatchdogTest, HeartbeatInTimePostponesTheAlarm) {
  for (int i = 0; i < 3; ++i) {
    Step(kTimeout - kNs);
    EXPECT_TRUE(watchdog_->Heartbeat(0));
  }
  Step(kTimeout - kNs);
  EXPECT_EQ(watchdog_->Missing(), 0u);
  watchdog_.reset();
  EXPECT_THAT(alarms_, IsEmpty());
}

TEST_F(WatchdogTest, DeviceIsMissingOnceUntilItComesBack) {
  Step(kTimeout);
  EXPECT_EQ(watchdog_->Missing(), 1u);
  Step(3 * kTimeout);
  EXPECT_EQ(watchdog_->Missing(), 1u);
  EXPECT_FALSE(watchdog_->Heartbeat(0));
  EXPECT_EQ(watchdog_->Missing(), 0u);
  Step(kTimeout - kNs);
  EXPECT_TRUE(watchdog_->Heartbeat(0));
  Step(kTimeout);
  EXPECT_EQ(watchdog_->Missing(), 1u);
  watchdog_.reset();
  EXPECT_THAT(alarms_, ElementsAre(AlarmAt(kTimeout, 0),
                                   AlarmAt(6 * kTimeout - kNs, 0)));
}

TEST_F(WatchdogTest, EachDeviceHasATimeoutOfItsOwn) {
  watchdog_.reset();
  Watch(3);
  Step(absl::Seconds(1));
  EXPECT_TRUE(watchdog_->Heartbeat(1));
  Step(absl::Seconds(1));
  EXPECT_TRUE(watchdog_->Heartbeat(0));
  for (int i = 0; i < 5; ++i) Step(absl::Seconds(1));
  EXPECT_EQ(watchdog_->Missing(), 3u);
  watchdog_.reset();
  EXPECT_THAT(alarms_, ElementsAre(AlarmAt(absl::Seconds(5), 2),
                                   AlarmAt(absl::Seconds(6), 1),
                                   AlarmAt(absl::Seconds(7), 0)));
}

TEST_F(WatchdogTest, DestructorFindsAllMissingDevices) {
  clock_.Step(kTimeout);
  watchdog_.reset();
  EXPECT_THAT(alarms_, ElementsAre(AlarmAt(kTimeout, 0)));
}

// The heartbeat comes exactly at the end of the timeout. Either may win.
TEST_F(WatchdogTest, EitherTheHeartbeatIsInTimeOrThereIsAnAlarm) {
  size_t missed = 0;
  for (int i = 0; i < 1000; ++i) {
    clock_.Step(kTimeout);
    missed += !watchdog_->Heartbeat(0);
  }
  watchdog_.reset();
  EXPECT_EQ(alarms_.size(), missed);
}

}  // namespace
}  // namespace device_heartbeats::device_heartbeats_watchdog_test
