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

// Of the watchdog's timing wheel: a device is found missing that much after its
// timeout at the latest, if the machine is not too busy.
constexpr absl::Duration kTick = absl::Milliseconds(10);

struct FleetOptions {
  workqueue::Clock* clock = workqueue::Clock::GetRealClock();  // not owned
  int devices = 300000;
  int workers = 4;  // threads that send heartbeats
  absl::Duration period = absl::Seconds(3);
  absl::Duration timeout = absl::Seconds(5);
  absl::Duration duration = absl::Seconds(12);
  int seed = 1;              // of what happens to the devices
  int silent_one_in = 1000;  // devices
};

// What has happened to a device.
struct Device {
  // Taken just before the heartbeat; the fleet's start if there was none.
  absl::Time last_heartbeat;
  // The last heartbeats before those at which it had been missing.
  std::vector<absl::Time> missing_after;

  // When it fell silent, if ever, and its last heartbeat before that.
  absl::Time fell_silent = absl::InfiniteFuture();
  absl::Time last_before_silence = absl::InfiniteFuture();
};

// What has happened to all of them.
struct Record {
  std::vector<Device> devices;
  std::vector<Alarm> alarms;  // in the order in which they were raised
  absl::Time watched_until;
};

// Fleet
//
// Devices that send a heartbeat to a `Watchdog` every so often, each of them a
// periodic task of a `Scheduler`. Some fall silent at some time, which cancels
// the task, and some of these come back later.
class Fleet {
 public:
  // Starts the heartbeats. Those that fall silent do so between the first
  // period and a time that leaves more than the timeout up to the duration.
  static absl::StatusOr<std::unique_ptr<Fleet>> Start(
      const FleetOptions& options);

  ~Fleet();

  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Ends the heartbeats, then the watch, and returns what has happened. To be
  // called once.
  Record Stop();

  // Returns how many heartbeats there have been.
  int64_t heartbeats() const { return heartbeats_.load(); }
  // Returns how many devices are missing. Not to be called after `Stop()`.
  size_t missing() const { return watchdog_->Missing(); }

 private:
  explicit Fleet(const FleetOptions& options);

  absl::Status StartAll();
  absl::StatusOr<workqueue::TaskId> StartHeartbeats(
      size_t i, absl::Duration initial_delay);

  // Has the device fall silent at some time, and perhaps come back.
  absl::Status ScheduleSilence(size_t i, workqueue::TaskId heartbeats,
                               std::mt19937& random);

  // What tasks do. Those of one device do not touch it at the same time.
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
