// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/device_heartbeats/report.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_REPORT_H_
#define WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_REPORT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "examples/device_heartbeats/fleet.h"

namespace device_heartbeats {

// How well the watchdog has done.
struct Report {
  int silent = 0;     // devices that fell silent for longer than the timeout
  int found = 0;      // of those, missing
  int came_back = 0;  // of those found

  // What no watchdog can help on a machine that is too busy: devices that came
  // back before it could look, and alarms of ones whose heartbeat was late.
  int overlooked = 0;
  int false_alarms = 0;

  // The longest time from the end of a timeout to the alarm.
  absl::Duration max_lateness;

  // What must not be, in words: an alarm before the timeout is over, a device
  // that was silent to the end and was not found, and a device that has not
  // come back as often as it was found, but for the last time.
  std::vector<std::string> errors;
};

// Compares the alarms with what happened to the devices. They were watched with
// `timeout`.
Report Examine(const Record& record, absl::Duration timeout);

}  // namespace device_heartbeats

#endif  // WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_REPORT_H_
