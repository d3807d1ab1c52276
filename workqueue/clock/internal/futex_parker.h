// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/clock/internal/futex_parker.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CLOCK_INTERNAL_FUTEX_PARKER_H_
#define WORKQUEUE_CLOCK_INTERNAL_FUTEX_PARKER_H_

// On other systems the system call takes another timespec, or does not exist.
#if defined(__linux__) && defined(__LP64__)
#define WORKQUEUE_INTERNAL_HAVE_FUTEX_PARKER 1

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "workqueue/clock/internal/steady_time.h"
#include "workqueue/clock/parker.h"

namespace workqueue {
namespace internal {

// FutexParker
//
// This class is a `Parker` on Linux, for a clock that reads `epoch` at the
// epoch of the monotonic clock. It has no mutex. The kernel often runs a woken
// thread at once, in the place of the thread that wakes it; a mutex that the
// waking thread holds would block the woken thread again.
class FutexParker final : public Parker {
 public:
  explicit FutexParker(absl::Time epoch) : epoch_(epoch) {}

  bool ParkUntil(absl::Time deadline) override {
    int32_t state = kEmpty;
    if (state_.compare_exchange_strong(state, kParked,
                                       std::memory_order_acquire)) {
      Sleep(deadline);
    }
    return state_.exchange(kEmpty, std::memory_order_acquire) == kUnparked;
  }

  void Unpark() override {
    if (state_.exchange(kUnparked, std::memory_order_release) == kParked) {
      // The parked thread may have woken by itself and destroyed this parker.
      // The kernel uses the address as a key only. So it wakes no thread then,
      // or wakes another futex's waiter, which must expect spurious wake-ups.
      Futex(FUTEX_WAKE, /*value=*/1, nullptr);
    }
  }

 private:
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t),
                "a futex consists of its value");

  enum State : int32_t { kEmpty, kParked, kUnparked };

  // Blocks until this is unparked or the clock has reached `deadline`.
  void Sleep(absl::Time deadline) {
    const absl::Duration end = deadline - epoch_;
    absl::Duration now = SinceSteadyEpoch();
    if (end <= now) return;
    do {
      const timespec until =
          absl::ToTimespec(std::min(end, now + LongestWait()));
      // FUTEX_WAIT_BITSET takes an absolute time, on the monotonic clock.
      Futex(FUTEX_WAIT_BITSET, kParked, &until);
      if (state_.load(std::memory_order_relaxed) != kParked) return;
      now = SinceSteadyEpoch();
    } while (now < end);
  }

  void Futex(int operation, int32_t value, const timespec* until) {
    syscall(SYS_futex, &state_, operation | FUTEX_PRIVATE_FLAG, value, until,
            nullptr, FUTEX_BITSET_MATCH_ANY);
  }

  const absl::Time epoch_;
  std::atomic<int32_t> state_{kEmpty};
};

}  // namespace internal
}  // namespace workqueue

#endif  // defined(__linux__) && defined(__LP64__)

#endif  // WORKQUEUE_CLOCK_INTERNAL_FUTEX_PARKER_H_
