// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A `SharedQueue` beside the model of a `RateLimitingQueue`.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/rate_limiting_queue_run.h"
#include "test/reference/subject.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/shared/shared_queue.h"

namespace reference {
namespace {

std::unique_ptr<workqueue::RateLimitingInterface<int>> Make(
    workqueue::FakeClock* clock, absl::Duration base_delay) {
  auto options = workqueue::NewSharedQueueOptions<int>(clock);
  // A limiter whose base is zero never delays. Its maximum is for delays that
  // the caller gives: no run has so many failures of an item that it is reached
  // otherwise.
  options.retry_schedule =
      base_delay == absl::ZeroDuration()
          ? *workqueue::FastSlowRetrySchedule(absl::ZeroDuration(),
                                              RateLimitingQueueModel::kMaxDelay,
                                              /*max_fast_attempts=*/1000)
          : *workqueue::ExponentialRetrySchedule(
                base_delay, RateLimitingQueueModel::kMaxDelay);
  return workqueue::NewSharedQueue(std::move(options));
}

// The engine's time does not go back, and has 100 days. An item that has been
// handed out for a callback, and that the callback has not taken yet, counts in
// the engine as being processed: if it is added, it is queued again.
std::string Run(Choices choices, std::string* log) {
  choices.LimitSteps(absl::ZeroDuration(), absl::Minutes(30));
  return RunRateLimitingQueue("SharedQueue", Make, /*shared=*/true, choices,
                              log);
}

}  // namespace

// The runs of that corpus have the same operations.
std::vector<Subject> AllSubjects() {
  return {{"shared_queue", Run, /*slowness=*/100, "rate_limiting_queue"}};
}

}  // namespace reference
