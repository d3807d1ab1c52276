// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TIMER_QUEUE_CLOCK_H_
#define WORKQUEUE_TIMER_QUEUE_CLOCK_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

class WaitingLoop;

// QueueClock
//
// The clock of a queue, and the loop that acts when a time on this clock comes.
// Made from a clock, for a queue with a thread of its own (if it needs any), or
// from a `WaitingLoop`, for queues that share the loop and go by the loop's
// clock:
//
//     options.clock = &fake_clock;
//
//     auto loop = std::make_shared<workqueue::WaitingLoop>(clock);
//     options.clock = loop;
//     other_options.clock = loop;
//
// Copyable. Thread-safe, as a `const` object is.
class QueueClock {
 public:
  // `clock` is not owned and must outlive the queue. Null means the real clock.
  QueueClock(Clock* clock = nullptr)  // NOLINT(runtime/explicit)
      : clock_(OrRealClock(clock)), given_(clock != nullptr) {}

  // The queue shares ownership of `loop`. Null means the real clock.
  QueueClock(std::shared_ptr<WaitingLoop> loop);  // NOLINT(runtime/explicit)

  // The clock. Never null.
  Clock* clock() const { return clock_; }

  // The loop that this was made from; null if it was made from a clock.
  const std::shared_ptr<WaitingLoop>& loop() const { return loop_; }

  // Returns the loop that this was made from, if the program drives it, and
  // null otherwise.
  std::shared_ptr<WaitingLoop> DrivenLoop() const;

  // Whether this was made from a clock or a loop, and not from null.
  bool given() const { return given_; }

  // Returns the loop that this was made from, or a new one on the clock. A new
  // loop starts a thread, which is named after the queue `name`.
  std::shared_ptr<WaitingLoop> LoopOrNew(absl::string_view name) const;

 private:
  Clock* clock_;
  bool given_;
  std::shared_ptr<WaitingLoop> loop_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TIMER_QUEUE_CLOCK_H_
