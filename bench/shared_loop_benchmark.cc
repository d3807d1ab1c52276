// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Prints a Markdown table: the share of a core that idle queues with metrics
// use if they share a `WaitingLoop`. Each queue wakes the loop every 500 ms to
// set its gauges. The program takes about half a minute.
//
//     tools/bazelw run -c opt //bench:shared_loop_benchmark

#include <time.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/noop_metrics.h"
#include "workqueue/clock/clock.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace {

using Queues = std::vector<std::unique_ptr<RateLimitingQueue<int>>>;

// Returns the CPU time that this process has used.
absl::Duration CpuTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

Queues MakeQueues(int n) {
  static auto* const metrics = new NoopMetrics();
  const auto loop = std::make_shared<WaitingLoop>(Clock::GetRealClock());
  Queues queues;
  for (int i = 0; i < n; ++i) {
    RateLimitingQueueOptions<int> options;
    options.name = absl::StrCat("queue ", i);
    options.metrics_provider = metrics;
    options.clock = loop;
    queues.push_back(
        std::make_unique<RateLimitingQueue<int>>(std::move(options)));
  }
  return queues;
}

// Returns the share of a core that this process uses during a heartbeat.
double MeasureCpu() {
  const absl::Duration before = CpuTime();
  absl::SleepFor(WaitingLoop::Heartbeat());
  return absl::FDivDuration(CpuTime() - before, WaitingLoop::Heartbeat());
}

void PrintRow(int n) {
  const Queues queues = MakeQueues(n);
  absl::SleepFor(absl::Seconds(1));  // Each queue reports for the first time.
  std::printf("| %d | %.2f %% |\n", n, 100 * MeasureCpu());
  std::fflush(stdout);
}

}  // namespace
}  // namespace workqueue

int main() {
  std::puts(
      "| queues | share of a core |\n"
      "| ---: | ---: |");
  for (int n : {100, 1000, 10000}) workqueue::PrintRow(n);
}
