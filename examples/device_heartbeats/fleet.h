// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/device_heartbeats/fleet.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_FLEET_H_
#define WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_FLEET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/device_heartbeats/watchdog.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/scheduler.h"

namespace device_heartbeats {

// The tick of the watchdog's timing wheel. An alarm comes at most one tick
// after the device's timeout, unless the machine is too busy.
constexpr absl::Duration kTick = absl::Milliseconds(10);

struct FleetOptions {
  workqueue::Clock* clock = workqueue::Clock::GetRealClock();  // not owned
  int devices = 300000;
  int workers = 4;  // the number of threads that send heartbeats
  absl::Duration period = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(5);
  absl::Duration duration = absl::Seconds(12);
  int seed = 1;              // seed of the random choices
  int silent_one_in = 1000;  // one in this many devices falls silent
};

// The history of one device.
struct Device {
  // The time just before the latest heartbeat, or the fleet's start if the
  // device has sent no heartbeat.
  absl::Time last_heartbeat;
  // For each return of a missing device, the time of the last heartbeat before
  // the device was missing.
  std::vector<absl::Time> missing_after;

  // The time at which the device fell silent, and its last heartbeat before
  // that time. Infinite if the device did not fall silent.
  absl::Time fell_silent = absl::InfiniteFuture();
  absl::Time last_before_silence = absl::InfiniteFuture();
};

// The history of all devices.
struct Record {
  std::vector<Device> devices;
  std::vector<Alarm> alarms;  // in the order in which they were raised
  absl::Time watched_until;
};

// Fleet
//
// This class simulates devices that send a heartbeat to a `Watchdog` once per
// period. Each device is a periodic task of a `Scheduler`. Some devices fall
// silent at a random time, which cancels their task. Some of these come back
// later.
class Fleet {
 public:
  // Starts the heartbeats. No device falls silent during the first period or
  // during the last timeout of the duration.
  static absl::StatusOr<std::unique_ptr<Fleet>> Start(
      const FleetOptions& options);

  ~Fleet();

  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Stops the heartbeats and then the watchdog. Returns what happened. Call it
  // once.
  Record Stop();

  // Returns the number of heartbeats sent so far.
  int64_t heartbeats() const { return heartbeats_.load(); }
  // Returns the number of devices that are missing now. Do not call it after
  // `Stop()`.
  size_t missing() const { return watchdog_->Missing(); }

 private:
  explicit Fleet(const FleetOptions& options);

  absl::Status StartAll();
  absl::StatusOr<workqueue::TaskId> StartHeartbeats(
      size_t i, absl::Duration initial_delay);

  // Schedules the time at which the device falls silent and, perhaps, the time
  // at which it comes back.
  absl::Status ScheduleSilence(size_t i, workqueue::TaskId heartbeats,
                               std::mt19937& random);

  // The functions of the tasks. The tasks of one device never run at the same
  // time.
  void SendHeartbeat(size_t i);
  void FallSilent(size_t i, workqueue::TaskId heartbeats,
                  std::optional<absl::Duration> back_after);

  const FleetOptions options_;
  std::atomic<int64_t> heartbeats_{0};
  Record record_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<workqueue::Scheduler> scheduler_;
};

}  // namespace device_heartbeats

#endif  // WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_FLEET_H_
