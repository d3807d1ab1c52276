// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_DRIVEN_LOOPS_H_
#define WORKQUEUE_TEST_REFERENCE_DRIVEN_LOOPS_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "test/reference/choices.h"
#include "test/reference/subject.h"
#include "test/workqueue/thread_driven_loop.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/queue_clock.h"

namespace reference {

// DrivenLoops
//
// While this exists, the objects that this thread tests are on loops that a
// program drives, and have no thread.
class DrivenLoops {
 public:
  DrivenLoops() { on_ = true; }
  ~DrivenLoops() { on_ = false; }

  DrivenLoops(const DrivenLoops&) = delete;
  DrivenLoops& operator=(const DrivenLoops&) = delete;

  static bool on() { return on_; }

 private:
  inline static thread_local bool on_ = false;
};

// Returns the clock for an object under test.
inline workqueue::QueueClock ClockOrLoop(workqueue::FakeClock* clock) {
  if (!DrivenLoops::on()) return clock;
  return workqueue::NewThreadDrivenLoop(clock);
}

// Returns `subject` on a loop that a program drives, with its corpus.
inline Subject OnDrivenLoop(absl::string_view name, Subject subject) {
  subject.name = name;
  subject.run = [run = std::move(subject.run)](Choices choices,
                                               std::string* log) {
    const DrivenLoops driven_loops;
    return run(choices, log);
  };
  // Half of what the subject does alone is enough, because the loop does it.
  subject.slowness *= 2;
  return subject;
}

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_DRIVEN_LOOPS_H_
