// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cost of a `DelayQueue` on the real clock. Times are per value, unless a
// case says otherwise.
//
// The cases:
//   PushTake   -- push a value that is due and take it, with nothing else in
//                 the queue (a million of them is push_take in bench/cases)
//   Cancel     -- cancel each of 100,000 values due in an hour
//   Contended  -- threads push and as many threads take, 1 and 1, 4 and 4; the
//                 time is the time between two calls of any thread
//
// A name that ends in `/heap` or `/wheel` tells the waiting set: the default or
// `WaitingSetOptions::TimingWheel()`.
//
//     tools/bazelw run -c opt //bench:delay_queue_benchmark

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "bench/second_thread.h"
#include "benchmark/benchmark.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

DelayQueueOptions Heap() { return {}; }

DelayQueueOptions Wheel() {
  DelayQueueOptions options;
  options.waiting_set = *WaitingSetOptions::TimingWheel();
  return options;
}

void PushTake(benchmark::State& state, const DelayQueueOptions& options) {
  DelayQueue<int64_t> queue(options);
  for (auto _ : state) {
    queue.Push(0, absl::ZeroDuration());
    benchmark::DoNotOptimize(queue.Take());
  }
}
BENCHMARK_CAPTURE(PushTake, heap, Heap());
BENCHMARK_CAPTURE(PushTake, wheel, Wheel());

void Cancel(benchmark::State& state, const DelayQueueOptions& options) {
  constexpr int64_t kValues = 100000;
  DelayQueue<int64_t> queue(options);
  std::vector<DelayQueueHandle> handles(kValues);
  while (state.KeepRunningBatch(kValues)) {
    state.PauseTiming();
    for (DelayQueueHandle& handle : handles) {
      handle = queue.Push(0, absl::Hours(1));
    }
    state.ResumeTiming();
    for (DelayQueueHandle handle : handles) queue.Cancel(handle);
  }
}
BENCHMARK_CAPTURE(Cancel, heap, Heap());
BENCHMARK_CAPTURE(Cancel, wheel, Wheel());

void Contended(benchmark::State& state) {
  // The queue is empty at the end of each run.
  static auto* const queue = new DelayQueue<int64_t>();
  const bool pushes = state.thread_index() % 2 == 0;
  for (auto _ : state) {
    if (pushes) {
      queue->Push(0, absl::ZeroDuration());
    } else {
      benchmark::DoNotOptimize(queue->Take());
    }
  }
}
BENCHMARK(Contended)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  workqueue::SecondThread second_thread;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
