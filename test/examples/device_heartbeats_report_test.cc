// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "absl/time/time.h"
#include "examples/device_heartbeats/fleet.h"
#include "examples/device_heartbeats/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace device_heartbeats::device_heartbeats_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(5);

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

// The record of four devices. Device 0 is healthy. Devices 1 and 2 fell silent
// after 3 seconds and were found after 8 seconds, and device 2 came back.
// Device 3 fell silent too late to be found.
class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    record_.watched_until = At(12);
    record_.devices.resize(4);
    for (Device& device : record_.devices) device.last_heartbeat = At(11);
    for (int i : {1, 2, 3}) FallSilent(i, i == 3 ? 8 : 3);
    record_.devices[2].last_heartbeat = At(11);
    record_.devices[2].missing_after = {At(3)};
    record_.alarms = {{At(8), 1}, {At(8.01), 2}};
  }

  void FallSilent(int i, double last_heartbeat) {
    Device& device = record_.devices[i];
    device.last_heartbeat = device.last_before_silence = At(last_heartbeat);
    device.fell_silent = At(last_heartbeat + 0.5);
  }

  Report Examine() { return device_heartbeats::Examine(record_, kTimeout); }

  Record record_;
};

TEST_F(ReportTest, NoErrors) {
  const Report report = Examine();
  EXPECT_EQ(report.silent, 2);
  EXPECT_EQ(report.found, 2);
  EXPECT_EQ(report.came_back, 1);
  EXPECT_EQ(report.overlooked, 0);
  EXPECT_EQ(report.false_alarms, 0);
  EXPECT_EQ(report.max_lateness, absl::Milliseconds(10));
  EXPECT_THAT(report.errors, IsEmpty());
}

TEST_F(ReportTest, TooEarly) {
  record_.alarms[1].time = At(7.5);
  EXPECT_THAT(Examine().errors, ElementsAre("device 2: found 500ms too early"));
}

TEST_F(ReportTest, NotFound) {
  record_.alarms.erase(record_.alarms.begin());
  const Report report = Examine();
  EXPECT_THAT(report.errors, ElementsAre("device 1: not found"));
  EXPECT_EQ(report.silent, 2);
  EXPECT_EQ(report.found, 1);
}

TEST_F(ReportTest, MustBeFoundWithinATickOfItsTimeout) {
  record_.watched_until = At(8.5 + 5) + kTick - absl::Nanoseconds(1);
  EXPECT_THAT(Examine().errors, IsEmpty());
  record_.watched_until += absl::Nanoseconds(1);
  EXPECT_THAT(Examine().errors, ElementsAre("device 3: not found"));
}

TEST_F(ReportTest, FoundTwiceOrLost) {
  record_.alarms.push_back({At(8), 1});
  record_.devices[0].missing_after = {At(1)};
  EXPECT_THAT(Examine().errors, ElementsAre("device 0: alarms: 0, returns: 1",
                                            "device 1: alarms: 2, returns: 0"));
}

// The next two tests are about a machine that is too busy.

TEST_F(ReportTest, OverlookedIfItCameBackFirst) {
  record_.alarms.pop_back();
  record_.devices[2].missing_after.clear();
  const Report report = Examine();
  EXPECT_THAT(report.errors, IsEmpty());
  EXPECT_EQ(report.silent, 2);
  EXPECT_EQ(report.found, 1);
  EXPECT_EQ(report.came_back, 0);
  EXPECT_EQ(report.overlooked, 1);
}

TEST_F(ReportTest, FalseAlarm) {
  record_.alarms.push_back({At(10), 0});
  record_.devices[0].missing_after = {At(4)};
  // before the device fell silent and was found
  record_.alarms.insert(record_.alarms.begin(), {At(6), 1});
  record_.devices[1].missing_after = {At(0.5)};
  const Report report = Examine();
  EXPECT_THAT(report.errors, IsEmpty());
  EXPECT_EQ(report.false_alarms, 2);
  EXPECT_EQ(report.found, 2);
  EXPECT_EQ(report.max_lateness, absl::Seconds(1));
}

}  // namespace
}  // namespace device_heartbeats::device_heartbeats_report_test
