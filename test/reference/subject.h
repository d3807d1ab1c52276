// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
#define WORKQUEUE_TEST_REFERENCE_SUBJECT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/reference/choices.h"

namespace reference {

// Subject
//
// An object of the library together with a slow but obviously correct model of
// it.
struct Subject {
  absl::string_view name;

  // Creates the object and its model on a `FakeClock`. Performs the operations
  // in `choices` on both, one after the other, until they disagree. Returns the
  // first disagreement, or an empty string if there is none.
  //
  // Appends a line to `*log` for each operation, unless `log` is null.
  //
  // Deterministic: the same choices give the same run.
  std::function<std::string(Choices choices, std::string* log)> run;

  // The test does so many times fewer operations.
  int64_t slowness = 1;

  // The folder of its corpus, if that does not have its name.
  absl::string_view corpus = name;
};

// Each is defined in a file of its name.
Subject DelayQueueSubject();
Subject DelayingQueueSubject();
Subject FailureLedgerSubject();
Subject FairOrderingSubject();
Subject InformerSubject();
Subject PriorityQueueSubject();
Subject QueueSubject();
Subject RateLimitingQueueSubject();
Subject SchedulerSubject();
Subject TimingWheelSubject();
Subject WaitingHeapSubject();

// Returns the subjects of the program that this is linked with.
std::vector<Subject> AllSubjects();

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
