// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "examples/device_heartbeats/fleet.h"
#include "examples/device_heartbeats/report.h"
#include "examples/device_heartbeats/watchdog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"

namespace device_heartbeats::device_heartbeats_fleet_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Devices send heartbeats one millisecond apart, on a clock whose time is
// exact.
class FleetTest : public ::testing::TestWithParam<int> {
 protected:
  FleetTest() {
    options_.clock = &clock_;
    options_.devices = 1000;
    options_.workers = 3;
    options_.period = absl::Seconds(1);
    options_.timeout = absl::Milliseconds(1503);
    options_.duration = end_ - start_;
    options_.seed = GetParam();
    options_.silent_one_in = 20;
  }

  // Moves the clock to end_ and stops at each time that one of the fleet's
  // threads waits for. All threads wait when the workers and the watchdog's
  // thread wait.
  void LiveThrough() {
    const size_t threads = static_cast<size_t>(options_.workers) + 1;
    clock_.AwaitWaiters(threads);
    while (clock_.TimeNow() < end_) {
      clock_.SetTime(std::min(end_, clock_.GetEarliestWakeupTime()));
      clock_.AwaitWaiters(threads);
    }
  }

  Record Run() {
    const std::unique_ptr<Fleet> fleet = *Fleet::Start(options_);
    LiveThrough();
    missing_ = fleet->missing();
    Record record = fleet->Stop();
    heartbeats_ = fleet->heartbeats();
    return record;
  }

  absl::Time FirstHeartbeat(size_t device) const {
    return start_ + absl::Milliseconds(device);
  }

  // Returns the watchdog's first tick at or after `time`.
  absl::Time Tick(absl::Time time) const {
    return start_ + absl::Ceil(time - start_, kTick);
  }

  workqueue::FakeClock clock_;
  const absl::Time start_ = clock_.TimeNow();
  FleetOptions options_;
  absl::Time end_ = start_ + absl::Seconds(5);
  size_t missing_ = 0;
  int64_t heartbeats_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Seeds, FleetTest, ::testing::Range(1, 4));

TEST_P(FleetTest, HeartbeatsArrive) {
  options_.silent_one_in = std::numeric_limits<int>::max();
  const Record record = Run();
  EXPECT_THAT(record.alarms, IsEmpty());
  EXPECT_EQ(record.watched_until, end_);
  // The first device sends its last heartbeat exactly at the end.
  EXPECT_EQ(heartbeats_, 5 * 1000 + 1);
  for (size_t i = 1; i < record.devices.size(); ++i) {
    EXPECT_EQ(record.devices[i].last_heartbeat,
              FirstHeartbeat(i) + absl::Seconds(4));
  }
}

TEST_P(FleetTest, AlarmsAreExact) {
  const Record record = Run();
  std::vector<std::vector<absl::Time>> alarms(record.devices.size());
  for (const Alarm& alarm : record.alarms) {
    alarms[alarm.device].push_back(alarm.time);
  }
  int silent = 0;
  int back = 0;
  for (size_t i = 0; i < record.devices.size(); ++i) {
    SCOPED_TRACE(i);
    const Device& device = record.devices[i];
    const bool fell_silent = device.fell_silent < absl::InfiniteFuture();
    if (!fell_silent) {
      EXPECT_THAT(alarms[i], IsEmpty());
      EXPECT_THAT(device.missing_after, IsEmpty());
      EXPECT_GT(device.last_heartbeat, end_ - options_.period);
      continue;
    }
    ++silent;
    const absl::Time last = device.last_before_silence;
    EXPECT_EQ(absl::Floor(last - FirstHeartbeat(i), options_.period),
              last - FirstHeartbeat(i));
    EXPECT_LE(last, device.fell_silent);
    EXPECT_GE(last, device.fell_silent - options_.period);
    EXPECT_THAT(alarms[i], ElementsAre(Tick(last + options_.timeout)));
    if (device.last_heartbeat == last) {
      EXPECT_THAT(device.missing_after, IsEmpty());
      continue;
    }
    ++back;
    EXPECT_THAT(device.missing_after, ElementsAre(last));
    EXPECT_GT(device.last_heartbeat, end_ - options_.period);
  }
  EXPECT_GT(silent, 20);
  EXPECT_GT(back, 5);
  EXPECT_GT(silent, back);
  EXPECT_EQ(missing_, static_cast<size_t>(silent - back));

  const Report report = Examine(record, options_.timeout);
  EXPECT_THAT(report.errors, IsEmpty());
  EXPECT_EQ(report.silent, silent);
  EXPECT_EQ(report.found, silent);
  EXPECT_EQ(report.came_back, back);
  EXPECT_EQ(report.overlooked, 0);
  EXPECT_EQ(report.false_alarms, 0);
  EXPECT_LT(report.max_lateness, kTick);
}

TEST_P(FleetTest, CanBeStoppedAtAnyTime) {
  end_ = start_ + GetParam() * absl::Milliseconds(1377);
  const Record record = Run();
  EXPECT_EQ(record.watched_until, end_);
  EXPECT_THAT(Examine(record, options_.timeout).errors, IsEmpty());
}

// This runs in real time, takes little of it, and asserts nothing about time.
TEST_P(FleetTest, CanBeStoppedWhileDevicesFallSilent) {
  options_.clock = workqueue::Clock::GetRealClock();
  options_.period = absl::Microseconds(100);
  options_.timeout = absl::Microseconds(200);
  options_.duration = absl::Milliseconds(5);
  options_.silent_one_in = 1;
  for (int i = 0; i < 10; ++i) {
    const Record record = (*Fleet::Start(options_))->Stop();
    EXPECT_THAT(Examine(record, options_.timeout).errors, IsEmpty());
  }
}

TEST(FleetOptionsTest, StartReportsErrors) {
  FleetOptions options;
  options.devices = 1;
  options.workers = 0;
  EXPECT_EQ(Fleet::Start(options).status().message(),
            "workers is 0; it must be at least 1");
}

}  // namespace
}  // namespace device_heartbeats::device_heartbeats_fleet_test
