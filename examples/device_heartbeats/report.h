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

// How well the watchdog worked.
struct Report {
  int silent = 0;     // devices silent for longer than the timeout
  int found = 0;      // silent devices that raised an alarm
  int came_back = 0;  // found devices that sent heartbeats again

  // Effects of a machine that is too busy, which no watchdog can prevent: the
  // number of devices that came back before the watchdog could notice their
  // silence, and the number of alarms of devices whose heartbeat was sent too
  // late.
  int overlooked = 0;
  int false_alarms = 0;

  // The longest time from the end of a timeout to its alarm.
  absl::Duration max_lateness;

  // Descriptions of the watchdog's mistakes: an alarm before the end of the
  // timeout, a device that stayed silent without an alarm, and a device whose
  // number of alarms does not match its returns. (There is one alarm for each
  // return, and one more if the device is missing at the end.)
  std::vector<std::string> errors;
};

// Compares the alarms in `record` with what happened to the devices. `timeout`
// is the watchdog's timeout.
Report Examine(const Record& record, absl::Duration timeout);

}  // namespace device_heartbeats

#endif  // WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_REPORT_H_
