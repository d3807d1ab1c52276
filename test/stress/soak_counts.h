// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_SOAK_COUNTS_H_
#define WORKQUEUE_TEST_STRESS_SOAK_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace workqueue {

// SoakCounts
//
// This class counts the events of a soak test. Thread-safe.
class SoakCounts {
 public:
  enum Event {
    kAdds,  // accepted additions; the next ones count accepted calls, too
    kDelayedAdds,
    kReschedules,
    kCancels,  // cancels that removed something
    kHandOuts,
    kSnapshots,
    kDrains,   // completed drains
    kDropped,  // dropped by a shutdown
    kEvents,   // the number of events
  };

  static const char* NameOf(Event event);

  void Count(Event event, int64_t times = 1) { counts_[event] += times; }
  int64_t count(Event event) const { return counts_[event]; }

 private:
  std::array<std::atomic<int64_t>, kEvents> counts_{};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_SOAK_COUNTS_H_
