// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cost of queues that share one `WaitingLoop`, on the real clock. Prints a
// Markdown table. The program takes about twenty seconds.
//
//     tools/bazelw run -c opt //bench:shared_loop_benchmark
//
// The columns:
//   idle      -- the share of a core that idle queues with metrics use; each of
//                them wakes the loop every 500 ms
//   due       -- the time from the moment at which an item of each queue is due
//                until a thread has got all of these items
//   destroyed -- the time to destroy all queues

#include <time.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/noop_metrics.h"
#include "workqueue/clock/clock.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace {

using Queues = std::vector<std::unique_ptr<RateLimitingQueue<int>>>;

Clock* RealClock() { return Clock::GetRealClock(); }

// Returns the CPU time that this process has used.
absl::Duration CpuTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

Queues MakeQueues(int n) {
  static auto* const metrics = new NoopMetrics();
  const auto loop = std::make_shared<WaitingLoop>(RealClock());
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

// Returns the share of a core that the process uses.
double MeasureIdle() {
  constexpr absl::Duration kObserved = absl::Seconds(4);
  RealClock()->Sleep(absl::Seconds(1));
  const absl::Duration before = CpuTime();
  RealClock()->Sleep(kObserved);
  return absl::FDivDuration(CpuTime() - before, kObserved);
}

absl::Duration MeasureDue(const Queues& queues) {
  const absl::Time due = RealClock()->TimeNow() + absl::Seconds(1);
  for (const auto& queue : queues) {
    queue->AddAfter(1, due - RealClock()->TimeNow());
  }
  for (const auto& queue : queues) queue->Done(*queue->Get());
  return RealClock()->TimeNow() - due;
}

absl::Duration MeasureDestruction(Queues queues) {
  const absl::Time before = RealClock()->TimeNow();
  queues.clear();
  return RealClock()->TimeNow() - before;
}

void PrintRow(int n) {
  Queues queues = MakeQueues(n);
  const double idle = MeasureIdle();
  const absl::Duration due = MeasureDue(queues);
  const absl::Duration destroyed = MeasureDestruction(std::move(queues));
  std::printf("| %d | %.2f %% | %.1f ms | %.1f ms |\n", n, 100 * idle,
              absl::ToDoubleMilliseconds(due),
              absl::ToDoubleMilliseconds(destroyed));
  std::fflush(stdout);
}

}  // namespace
}  // namespace workqueue

int main() {
  std::puts(
      "| queues | idle | due | destroyed |\n"
      "| ---: | ---: | ---: | ---: |");
  for (int n : {100, 1000, 10000}) workqueue::PrintRow(n);
}
