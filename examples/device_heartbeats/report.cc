// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/device_heartbeats/report.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/device_heartbeats/fleet.h"
#include "examples/device_heartbeats/watchdog.h"

namespace device_heartbeats {

Report Examine(const Record& record, absl::Duration timeout) {
  std::vector<std::vector<absl::Time>> alarms(record.devices.size());
  for (const Alarm& alarm : record.alarms) {
    alarms[alarm.device].push_back(alarm.time);
  }

  Report report;
  for (size_t i = 0; i < record.devices.size(); ++i) {
    const Device& device = record.devices[i];
    const auto error = [&](const auto&... what) {
      report.errors.push_back(absl::StrCat("device ", i, ": ", what...));
    };

    const size_t returns = device.missing_after.size();
    if (alarms[i].size() != returns && alarms[i].size() != returns + 1) {
      error("alarms: ", alarms[i].size(), ", returns: ", returns);
      continue;
    }
    bool found = false;
    for (size_t j = 0; j < alarms[i].size(); ++j) {
      const absl::Time last =
          j < returns ? device.missing_after[j] : device.last_heartbeat;
      const absl::Duration lateness = alarms[i][j] - (last + timeout);
      if (lateness < absl::ZeroDuration()) {
        error("found ", absl::FormatDuration(-lateness), " too early");
      }
      report.max_lateness = std::max(report.max_lateness, lateness);
      const bool silent = last == device.last_before_silence;
      found |= silent;
      report.false_alarms += !silent;
    }

    const bool back = device.last_heartbeat > device.last_before_silence;
    report.found += found;
    report.came_back += found && back;
    report.overlooked += !found && back;
    const bool overdue =
        device.fell_silent + timeout + kTick <= record.watched_until;
    if (!found && !back && overdue) error("not found");
    report.silent += found || back || overdue;
  }
  return report;
}

}  // namespace device_heartbeats
