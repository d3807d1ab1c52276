// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/stress/lull.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_STRESS_LULL_H_
#define WORKQUEUE_TEST_STRESS_LULL_H_

#include <atomic>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// Lull
//
// A time in which threads that are busy otherwise do nothing. A wake-up that
// gets lost shows then, and not while there is another one soon.
//
// Thread-safe; one thread begins and ends it.
class Lull {
 public:
  // Calls `f`, or sleeps a little if there is a lull.
  template <typename F>
  void DoUnlessOn(F f) {
    ++busy_;
    if (on_) {
      --busy_;
      Nap();
      return;
    }
    f();
    --busy_;
  }

  // Returns when nobody is busy, which holds until the end.
  void Begin() {
    on_ = true;
    while (busy_ > 0) Nap();
  }
  void End() { on_ = false; }

  bool on() const { return on_; }

  static void Nap() { Clock::GetRealClock()->Sleep(absl::Microseconds(50)); }

 private:
  std::atomic<bool> on_{false};
  std::atomic<int> busy_{0};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_LULL_H_
