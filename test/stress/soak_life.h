// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_
#define WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "test/stress/soak_counts.h"
#include "test/stress/threads.h"

namespace workqueue {

// The conditions of one life: the queue is used for a given time, and then its
// end begins.
struct SoakLife {
  std::string name;  // used in messages
  uint32_t seed;
  absl::Duration length;
  int busy;  // A higher number means less sleep.
  SoakCounts* counts;

  // Returns the time by which a life that begins now must be over. It is before
  // the heartbeat of a waiting loop, which would hide a lost wake-up.
  absl::Time Deadline() const {
    return RealClock()->TimeNow() + length + absl::Seconds(8);
  }

  void Count(SoakCounts::Event event, int64_t times = 1) const {
    counts->Count(event, times);
  }

  // Returns at once or after a short sleep. So the threads wait for each other
  // in varying order.
  void Dawdle(std::mt19937& random) const {
    if (random() % busy == 0) {
      RealClock()->Sleep(absl::Microseconds(random() % 500));
    }
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_SOAK_LIFE_H_
