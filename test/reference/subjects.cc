// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "test/reference/subject.h"

namespace reference {

std::vector<Subject> AllSubjects() {
  return {
      DelayQueueSubject(),   DelayingQueueSubject(),     FailureLedgerSubject(),
      FairOrderingSubject(), InformerSubject(),          PriorityQueueSubject(),
      QueueSubject(),        RateLimitingQueueSubject(), SchedulerSubject(),
      TimingWheelSubject(),  WaitingHeapSubject(),
  };
}

}  // namespace reference
