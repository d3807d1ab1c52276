// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/subject.h"
#include "test/reference/waiting_set_run.h"
#include "workqueue/timer/waiting_heap.h"

namespace reference {
namespace {

std::string Run(Choices choices, std::string* log) {
  Comparison comparison(log);
  workqueue::internal::WaitingHeap heap(absl::UnixEpoch());
  WaitingSetRun(&heap, /*tick=*/absl::ZeroDuration(), choices, &comparison)
      .Run();
  return comparison.disagreement();
}

}  // namespace

Subject WaitingHeapSubject() { return {"waiting_heap", Run}; }

}  // namespace reference
