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
namespace waiting_heap_subject {
namespace {

std::string Run(Choices choices, std::string* log) {
  Comparison comparison(log);
  workqueue::internal::WaitingHeap heap(absl::UnixEpoch());
  WaitingSetRun(&heap, /*tick=*/absl::ZeroDuration(), choices, &comparison)
      .Run();
  return comparison.disagreement();
}

}  // namespace
}  // namespace waiting_heap_subject

Subject WaitingHeapSubject() {
  return {"waiting_heap", waiting_heap_subject::Run};
}

}  // namespace reference
