// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A `SharedQueue` beside the model of a `RateLimitingQueue`: in a server, and
// in memory.

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
#include "workqueue/shared/testing/memory_engine.h"

namespace reference {
namespace {

using Queue = std::unique_ptr<workqueue::RateLimitingInterface<int>>;

Queue MakeIn(workqueue::MemoryEngine* engine, workqueue::FakeClock* clock,
             absl::Duration base_delay) {
  auto options = workqueue::NewSharedQueueOptions<int>(clock, engine);
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

Queue MakeInServer(workqueue::FakeClock* clock, absl::Duration base_delay) {
  return MakeIn(nullptr, clock, base_delay);
}

Queue MakeInMemory(workqueue::FakeClock* clock, absl::Duration base_delay) {
  workqueue::MemoryEngine engine(clock);
  return MakeIn(&engine, clock, base_delay);
}

// The engine's time does not go back, and has 100 days. An item that has been
// handed out for a callback, and that the callback has not taken yet, counts in
// the engine as being processed: if it is added, it is queued again.
template <Queue (*make)(workqueue::FakeClock*, absl::Duration)>
std::string Run(Choices choices, std::string* log) {
  choices.LimitSteps(absl::ZeroDuration(), absl::Minutes(30));
  return RunRateLimitingQueue("SharedQueue", make, /*shared=*/true, choices,
                              log);
}

}  // namespace

// The runs of that corpus have the same operations.
std::vector<Subject> AllSubjects() {
  return {{"shared_queue", Run<MakeInServer>, /*slowness=*/100,
           "rate_limiting_queue"},
          {"shared_queue_in_memory", Run<MakeInMemory>, /*slowness=*/20,
           "rate_limiting_queue"}};
}

}  // namespace reference
