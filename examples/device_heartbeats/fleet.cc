// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/device_heartbeats/fleet.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/device_heartbeats/watchdog.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace device_heartbeats {

using ::workqueue::TaskId;
using ::workqueue::WaitingSetOptions;

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Start(
    const FleetOptions& options) {
  auto fleet = absl::WrapUnique(new Fleet(options));
  absl::Status status = fleet->StartAll();
  if (!status.ok()) return status;
  return fleet;
}

Fleet::Fleet(const FleetOptions& options) : options_(options) {
  record_.devices.resize(static_cast<size_t>(options.devices));
  const absl::Time now = options.clock->TimeNow();
  for (Device& device : record_.devices) device.last_heartbeat = now;

  workqueue::DelayQueueOptions watching;
  watching.clock = options.clock;
  watching.waiting_set = *WaitingSetOptions::TimingWheel(kTick);
  watchdog_ = std::make_unique<Watchdog>(
      record_.devices.size(), options.timeout, watching, &record_.alarms);
}

Fleet::~Fleet() {
  // The tasks use scheduler_, so it must not be null while they run.
  if (scheduler_ != nullptr) scheduler_->ShutDownWithDrain();
}

absl::Status Fleet::StartAll() {
  workqueue::SchedulerOptions sending;
  sending.clock = options_.clock;
  sending.workers = static_cast<size_t>(options_.workers);
  // With a timing wheel a worker wakes once for all heartbeats that are due in
  // the same millisecond.
  sending.waiting_set = *WaitingSetOptions::TimingWheel(absl::Milliseconds(1));
  absl::StatusOr<std::unique_ptr<workqueue::Scheduler>> scheduler =
      workqueue::Scheduler::Create(std::move(sending));
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = *std::move(scheduler);

  std::mt19937 random(static_cast<uint32_t>(options_.seed));
  const size_t n = record_.devices.size();
  for (size_t i = 0; i < n; ++i) {
    const absl::StatusOr<TaskId> heartbeats =
        StartHeartbeats(i, options_.period * i / n);
    if (!heartbeats.ok()) return heartbeats.status();
    if (random() % options_.silent_one_in != 0) continue;
    absl::Status status = ScheduleSilence(i, *heartbeats, random);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Fleet::ScheduleSilence(size_t i, TaskId heartbeats,
                                    std::mt19937& random) {
  const auto between = [&random](absl::Duration begin, absl::Duration end) {
    return begin + (end - begin) * (random() / double{std::mt19937::max()});
  };
  const absl::Duration timeout = options_.timeout;
  const absl::Duration delay =
      between(options_.period, options_.duration - 1.25 * timeout);
  std::optional<absl::Duration> back_after;
  if (random() % 2 == 0) back_after = between(1.25 * timeout, 1.5 * timeout);
  return scheduler_
      ->ScheduleOnce([this, i, heartbeats,
                      back_after] { FallSilent(i, heartbeats, back_after); },
                     delay)
      .status();
}

absl::StatusOr<TaskId> Fleet::StartHeartbeats(size_t i,
                                              absl::Duration initial_delay) {
  workqueue::ScheduleEveryOptions options;
  options.initial_delay = initial_delay;
  return scheduler_->ScheduleEvery([this, i] { SendHeartbeat(i); },
                                   options_.period, options);
}

void Fleet::SendHeartbeat(size_t i) {
  Device& device = record_.devices[i];
  const absl::Time last =
      std::exchange(device.last_heartbeat, options_.clock->TimeNow());
  if (!watchdog_->Heartbeat(i)) device.missing_after.push_back(last);
  heartbeats_.fetch_add(1, std::memory_order_relaxed);
}

void Fleet::FallSilent(size_t i, TaskId heartbeats,
                       std::optional<absl::Duration> back_after) {
  // Waits for a running heartbeat, so that it cannot overlap the device's later
  // heartbeats.
  scheduler_->CancelAndWait(heartbeats);
  Device& device = record_.devices[i];
  device.fell_silent = options_.clock->TimeNow();
  device.last_before_silence = device.last_heartbeat;
  // This fails only if the fleet is being stopped.
  if (back_after.has_value()) StartHeartbeats(i, *back_after).IgnoreError();
}

Record Fleet::Stop() {
  scheduler_->ShutDownWithDrain();
  record_.watched_until = options_.clock->TimeNow();
  watchdog_.reset();
  return std::move(record_);
}

}  // namespace device_heartbeats
