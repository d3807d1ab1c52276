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

// When a device, which goes by a number, was found missing.
struct Alarm {
  absl::Time time;
  size_t device;
};

// Watchdog
//
// Finds the devices that have not been heard of for `timeout`.
//
// Each device that is not missing has a value in a `DelayQueue`, which comes
// out when that time is over; a heartbeat puts it off. Whether one came in time
// is for the queue to say: it either finds the value and resets it, or has
// handed it out, and then there is an alarm, or just about to be one. A device
// without a value gets the next one from its own heartbeat and from nobody
// else, so that nothing need be locked.
//
// Thread-safe, but of one device there may be one heartbeat at a time.
class Watchdog {
 public:
  // Watches as many as `devices` from now on. Writes to `alarms`, which are not
  // owned, and can be read when the watchdog has been destroyed.
  Watchdog(size_t devices, absl::Duration timeout,
           const workqueue::DelayQueueOptions& options,
           std::vector<Alarm>* alarms)
      : clock_(workqueue::OrRealClock(options.clock)),
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

  // Finds all whose time is over by now.
  ~Watchdog() {
    timeouts_.ShutDown();
    raising_alarms_.join();
  }

  // There is a heartbeat of `device`. Returns false if it had been missing.
  bool Heartbeat(size_t device) {
    if (timeouts_.Reset(handles_[device], timeout_)) return true;
    handles_[device] = timeouts_.Push(device, timeout_);
    return false;
  }

  // Returns how many devices are missing now.
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
