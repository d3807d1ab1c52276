// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cost of tracing, on the real clock. CPU times are per item, which a
// thread adds to a `PriorityQueue`, and gets in a lease that it ends.
//
// The cases:
//   none     -- without a `TracingQueue`
//   carry    -- with one that has no tracer
//   context  -- with a tracer that makes a context for each add
//   attempt  -- the same, and the item is processed in an attempt
//
//     tools/bazelw run -c opt //bench:tracing_benchmark

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "bench/second_thread.h"
#include "benchmark/benchmark.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue {
namespace {

using Tracers = std::vector<std::shared_ptr<QueueTracer<int64_t>>>;

// A tracer whose own work is as little as possible.
class MinimalTracer final : public QueueTracer<int64_t> {
 public:
  TraceContext OnAdd(const int64_t&, const AddInfo&) override {
    return Context();
  }
  std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const int64_t&, absl::Span<const TraceContext>,
      const ReconcileInfo&) override {
    return std::make_unique<Span>();
  }

 private:
  class Span final : public ReconcileSpan {
   public:
    TraceContext context() const override { return Context(); }
  };

  static TraceContext Context() {
    TraceContext context;
    context.trace_id[0] = context.span_id[0] = 1;
    return context;
  }
};

std::unique_ptr<TracingQueue<int64_t>> NewQueue(Tracers tracers) {
  TracingQueueOptions<int64_t> options;
  options.queue = std::make_unique<PriorityQueue<int64_t>>();
  options.tracers = std::move(tracers);
  return *TracingQueue<int64_t>::Create(std::move(options));
}

void Cycle(benchmark::State& state, Interface<int64_t>& queue) {
  Lease<int64_t> lease;
  for (auto _ : state) {
    queue.Add(0);
    benchmark::DoNotOptimize(queue.AcquireNext(&lease).ok());
    lease.Done();
  }
}

void None(benchmark::State& state) {
  PriorityQueue<int64_t> queue;
  Cycle(state, queue);
}
BENCHMARK(None)->Name("none");

void Carry(benchmark::State& state) { Cycle(state, *NewQueue({})); }
BENCHMARK(Carry)->Name("carry");

void Context(benchmark::State& state) {
  Cycle(state, *NewQueue({std::make_shared<MinimalTracer>()}));
}
BENCHMARK(Context)->Name("context");

void Attempt(benchmark::State& state) {
  const auto queue = NewQueue({std::make_shared<MinimalTracer>()});
  Lease<int64_t> lease;
  for (auto _ : state) {
    queue->Add(0);
    benchmark::DoNotOptimize(queue->AcquireNext(&lease).ok());
    queue->BeginAttempt(*lease).End(absl::OkStatus());
    lease.Done();
  }
}
BENCHMARK(Attempt)->Name("attempt");

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  workqueue::SecondThread second_thread;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
