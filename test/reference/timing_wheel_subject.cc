// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/subject.h"
#include "test/reference/waiting_set_run.h"
#include "workqueue/timer/timing_wheel.h"

namespace reference {
namespace timing_wheel_subject {
namespace {

std::string Run(Choices choices, std::string* log) {
  constexpr size_t kSlots[] = {2, 3, 4, 63, 64, 65, 256, 3600};
  constexpr absl::Duration kTick = absl::Milliseconds(10);
  choices.Next();
  const size_t slots = kSlots[choices.Below(8)];
  Comparison comparison(log);
  comparison.Did("TimingWheel", kTick, slots);
  workqueue::internal::TimingWheel wheel(absl::UnixEpoch(), kTick, slots);
  WaitingSetRun(&wheel, kTick, choices, &comparison).Run();
  return comparison.disagreement();
}

}  // namespace
}  // namespace timing_wheel_subject

Subject TimingWheelSubject() {
  return {"timing_wheel", timing_wheel_subject::Run};
}

}  // namespace reference
