// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The locks, condition variables, threads, atomic variables and clock that this
// library is made of. They are those of Abseil and of the standard library, by
// other names: an alias costs nothing. In a build with `WORKQUEUE_SIMULATION`
// they are those of a scheduler that decides who goes on; see
// `workqueue/simulation/simulation.h`. Code whose schedules are to be simulated
// uses these names, too.
//
// Do not define `WORKQUEUE_SIMULATION` for a part of a program only. With Bazel
// it is `--define=workqueue_simulation=true`.

#ifndef WORKQUEUE_SIMULATION_SYNC_H_
#define WORKQUEUE_SIMULATION_SYNC_H_

#ifdef WORKQUEUE_SIMULATION
#include "workqueue/simulation/internal/simulated_sync.h"  // IWYU pragma: export
#else

#include <time.h>

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>
#include <thread>  // NOLINT(build/c++11)

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace workqueue::sync {

using CondVar = absl::CondVar;
using Mutex = absl::Mutex;
using MutexLock = absl::MutexLock;
using Notification = absl::Notification;

template <typename T>
using Atomic = std::atomic<T>;
using Thread = std::thread;

// Lets other threads run. A loop that calls this ends only by their doing.
inline void Yield() { std::this_thread::yield(); }

// Returns the time of the machine's monotonic clock since its epoch.
inline int64_t SteadyNanos() {
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the coarse time of that clock: the time of the kernel's last tick,
// where the system tells it. A tick takes 1 to 10 ms.
inline int64_t CoarseSteadyNanos() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0) {
    return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
  }
#endif
  return SteadyNanos();
}

// Returns the time of the wall clock since 1970.
inline int64_t WallNanos() { return absl::GetCurrentTimeNanos(); }

// Returns a number that nobody can foresee.
uint32_t RandomSeed();

}  // namespace workqueue::sync

#endif  // WORKQUEUE_SIMULATION

#endif  // WORKQUEUE_SIMULATION_SYNC_H_
