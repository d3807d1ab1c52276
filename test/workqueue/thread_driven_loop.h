// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_THREAD_DRIVEN_LOOP_H_
#define WORKQUEUE_TEST_WORKQUEUE_THREAD_DRIVEN_LOOP_H_

#include <atomic>
#include <memory>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

// Returns a loop that a program drives, and a thread that does what the program
// would do. So tests of objects on a loop need not drive it by hand. The thread
// ends with the loop, which one of its own clients must not end.
inline std::shared_ptr<WaitingLoop> NewThreadDrivenLoop(Clock* clock) {
  struct Program {
    explicit Program(Clock* clock)
        : parker(clock->NewParker(Parker::Role::kLoop)),
          loop(clock, [this] { parker->Unpark(); }),
          thread([this] {
            const absl::Time first = loop.RunDue();
            begun.Notify();
            parker->ParkUntil(first);
            while (!stopped) parker->ParkUntil(loop.RunDue());
          }) {
      // From now on the loop's thread is that one.
      begun.WaitForNotification();
    }

    ~Program() {
      stopped = true;
      parker->Unpark();
      thread.join();
    }

    const std::unique_ptr<Parker> parker;
    absl::Notification begun;
    std::atomic<bool> stopped{false};
    WaitingLoop loop;
    Thread thread;
  };
  const auto program = std::make_shared<Program>(clock);
  return std::shared_ptr<WaitingLoop>(program, &program->loop);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_THREAD_DRIVEN_LOOP_H_
