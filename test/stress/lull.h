// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_LULL_H_
#define WORKQUEUE_TEST_STRESS_LULL_H_

#include <atomic>

#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

// Lull
//
// This class stops the busy threads for a while. During a lull there is no next
// wake-up that could hide a lost one.
//
// Thread-safe. One thread begins and ends the lulls.
class Lull {
 public:
  // Calls `f`, or sleeps for a short time if there is a lull.
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

  // Begins a lull. Returns once no thread is busy. No thread becomes busy until
  // the lull ends.
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
