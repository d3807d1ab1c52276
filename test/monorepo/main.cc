// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Uses the library together with folders, headers and classes of the project
// that have the same names. Exits with 0 if both work.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/slab.h"
#include "clock/clock.h"
#include "clock/fake_clock.h"
#include "controller/controller.h"
#include "internal/mutex_lock.h"
#include "metrics/metrics.h"
#include "timer/scheduler.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/metrics.h"
#include "workqueue/timer/scheduler.h"

int main() {
  const base::Slab slab{"granite"};
  clocks::FakeClock time_of_day;
  time_of_day.Set(12 * 60 * 60);
  timer::Scheduler scheduler(&time_of_day);
  metrics::CounterMetric switched_on;
  controller::Controller lamps(&time_of_day, &switched_on);

  workqueue::FakeClock clock;
  workqueue::ControllerOptions<std::string> options;
  options.clock = &clock;
  options.reconcile = [&lamps](const std::string& lamp) {
    return lamps.SwitchOn(lamp) ? absl::OkStatus()
                                : absl::UnavailableError("day");
  };
  auto controller =
      workqueue::Controller<std::string>::Create(std::move(options));
  if (!controller.ok() || !(*controller)->Start().ok()) return 1;

  (*controller)->queue().Add(slab.stone);
  (*controller)->AwaitIdle();
  if (switched_on.Count(slab.stone) != 0) return 1;
  scheduler.BeginNight();
  clock.Step(absl::Milliseconds(4));  // The first retry is due after 5 ms.
  (*controller)->AwaitIdle();
  if (switched_on.Count(slab.stone) != 0) return 1;
  clock.Step(absl::Milliseconds(1));
  (*controller)->AwaitIdle();
  return switched_on.Count(slab.stone) == 1 ? 0 : 1;
}
