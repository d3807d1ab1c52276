// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "test/reference/driven_loops.h"
#include "test/reference/subject.h"

namespace reference {

std::vector<Subject> AllSubjects() {
  return {
      DelayQueueSubject(),
      DelayingQueueSubject(),
      FailureLedgerSubject(),
      FairOrderingSubject(),
      InformerSubject(),
      PriorityQueueSubject(),
      QueueSubject(),
      RateLimitingQueueSubject(),
      SchedulerSubject(),
      TimingWheelSubject(),
      WaitingHeapSubject(),
      OnDrivenLoop("driven_delay_queue", DelayQueueSubject()),
      OnDrivenLoop("driven_delaying_queue", DelayingQueueSubject()),
      OnDrivenLoop("driven_priority_queue", PriorityQueueSubject()),
      OnDrivenLoop("driven_rate_limiting_queue", RateLimitingQueueSubject()),
      OnDrivenLoop("driven_scheduler", SchedulerSubject()),
  };
}

}  // namespace reference
