// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fails unless an item comes again after the delay of the default limiter.

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/rate_limiting_queue.h"

int main() {
  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  workqueue::RateLimitingQueue<std::string> queue(std::move(options));

  queue.AddRateLimited("default/web");
  clock.Step(absl::Milliseconds(4));
  if (queue.Len() != 0) return 1;
  clock.Step(absl::Milliseconds(1));
  if (queue.Len() != 1) return 1;
  return queue.Get() == "default/web" ? 0 : 1;
}
