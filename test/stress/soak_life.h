// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/soak_life.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_
#define WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "test/stress/soak_counts.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// What a queue is given to live through: so long, and then its end begins.
struct SoakLife {
  std::string name;  // for messages
  uint32_t seed;
  absl::Duration length;
  int busy;  // the higher, the less is slept
  SoakCounts* counts;

  // When it must be over, at the latest, if it begins now. That is before the
  // heartbeat of a waiting loop, which would hide that a wake-up went missing.
  absl::Time Deadline() const {
    return Clock::GetRealClock()->TimeNow() + length + absl::Seconds(8);
  }

  void Count(SoakCounts::Event event, int64_t times = 1) const {
    counts->Count(event, times);
  }

  // Does nothing, or sleeps a little: so that those who are faster wait for
  // those who are slower, and the other way around.
  void Dawdle(std::mt19937& random) const {
    if (random() % busy == 0) {
      Clock::GetRealClock()->Sleep(absl::Microseconds(random() % 500));
    }
  }
};

inline Clock* RealClock() { return Clock::GetRealClock(); }

// Up to 3 ms; one in eight is none.
inline absl::Duration ShortDelay(std::mt19937& random) {
  if (random() % 8 == 0) return absl::ZeroDuration();
  return absl::Microseconds(1 + random() % 3000);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_
