// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/reference/choices.h"
#include "test/reference/driven_loops.h"
#include "test/reference/rate_limiting_queue_run.h"
#include "test/reference/subject.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/rate_limiting_queue.h"

namespace reference {
namespace rate_limiting_queue_subject {
namespace {

std::unique_ptr<workqueue::RateLimitingInterface<int>> Make(
    workqueue::FakeClock* clock, absl::Duration base_delay) {
  workqueue::RateLimitingQueueOptions<int> options;
  options.clock = ClockOrLoop(clock);
  options.rate_limiter =
      *workqueue::ItemExponentialFailureRateLimiter<int>::Create(
          base_delay, RateLimitingQueueModel::kMaxDelay);
  return std::make_unique<workqueue::RateLimitingQueue<int>>(
      std::move(options));
}

std::string Run(Choices choices, std::string* log) {
  return RunRateLimitingQueue("RateLimitingQueue", Make,
                              /*shared=*/false, choices, log);
}

}  // namespace
}  // namespace rate_limiting_queue_subject

Subject RateLimitingQueueSubject() {
  return {"rate_limiting_queue", rate_limiting_queue_subject::Run};
}

}  // namespace reference
