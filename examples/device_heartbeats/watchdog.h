// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/device_heartbeats/watchdog.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_WATCHDOG_H_
#define WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_WATCHDOG_H_

#include <cstddef>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/delay_queue.h"

namespace device_heartbeats {

// A device, by its number, and the time at which it was found missing.
struct Alarm {
  absl::Time time;
  size_t device;
};

// Watchdog
//
// This class finds the devices that have sent no heartbeat for `timeout`.
//
// Each device that is not missing has a value in a `DelayQueue`, due `timeout`
// after its last heartbeat. A heartbeat resets that time. The queue decides
// whether a heartbeat came in time. If the queue still has the value, the queue
// resets the value's time. If the queue has handed the value out, the watchdog
// raises an alarm. A missing device gets a new value only from its own next
// heartbeat. So the watchdog needs no lock of its own.
//
// Thread-safe, except that the caller must not send two heartbeats of one
// device at the same time.
//
// Example:
//
//     std::vector<Alarm> alarms;
//     {
//       Watchdog watchdog(/*devices=*/2, absl::Seconds(5), options, &alarms);
//       watchdog.Heartbeat(0);
//       // ...
//     }
//     // alarms has one entry for each time that a device was missing.
class Watchdog {
 public:
  // Watches devices 0 to `devices` - 1 from now on. Appends to `*alarms`. Not
  // owned; the caller must read `*alarms` only after the watchdog has been
  // destroyed.
  Watchdog(size_t devices, absl::Duration timeout,
           const workqueue::DelayQueueOptions& options,
           std::vector<Alarm>* alarms)
      : clock_(options.clock.clock()),
        timeout_(timeout),
        alarms_(alarms),
        timeouts_(options),
        handles_(devices) {
    for (size_t i = 0; i < devices; ++i) {
      handles_[i] = timeouts_.Push(i, timeout_);
    }
    raising_alarms_ = std::thread([this] {
      for (size_t device : timeouts_.Stream()) {
        alarms_->push_back({clock_->TimeNow(), device});
      }
    });
  }

  // Raises the alarms of all devices whose timeout has ended by now, and stops.
  ~Watchdog() {
    timeouts_.ShutDown();
    raising_alarms_.join();
  }

  // Records a heartbeat of `device`. Returns false if the device was missing.
  bool Heartbeat(size_t device) {
    if (timeouts_.Reset(handles_[device], timeout_)) return true;
    handles_[device] = timeouts_.Push(device, timeout_);
    return false;
  }

  // Returns the number of devices that are missing now.
  size_t Missing() const { return handles_.size() - timeouts_.Len(); }

 private:
  workqueue::Clock* const clock_;
  const absl::Duration timeout_;
  std::vector<Alarm>* const alarms_;
  workqueue::DelayQueue<size_t> timeouts_;
  std::vector<workqueue::DelayQueueHandle> handles_;
  std::thread raising_alarms_;
};

}  // namespace device_heartbeats

#endif  // WORKQUEUE_EXAMPLES_DEVICE_HEARTBEATS_WATCHDOG_H_
