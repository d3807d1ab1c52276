// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cost of metrics in a queue and a controller, on the real clock.
//
// The cases. CPU times are per item.
//   GetDone    -- add an item to a `Queue`, get it, and end its processing
//   Acquire    -- the same with a lease
//   Priority   -- the same with a lease of a `PriorityQueue`
//   Reconcile  -- add an item to a `Controller`, whose worker reconciles it; a
//                 thousand at a time, so that the worker seldom sleeps
//   ReadClock  -- read the clock: with metrics, a queue does so three times
//                 for an item, and a controller twice more
//
// The metrics:
//   none        -- no provider: each call of a queue, and each metric of a
//                  controller, compares a pointer with null
//   noop        -- metrics that do nothing: the library's own work for metrics
//   prometheus  -- a `PrometheusMetricsProvider`
//
// The name of a benchmark is CASE/METRICS.
//
//     tools/bazelw run -c opt //bench:metrics_benchmark
//
// `bench/metrics_cost` prints a table of all figures.

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "bench/noop_metrics.h"
#include "bench/second_thread.h"
#include "benchmark/benchmark.h"
#include "prometheus/registry.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace {

using TestPriorityQueue = PriorityQueue<int64_t>;
using TestQueue = Queue<int64_t>;

// The providers that a queue and a controller report to. Never destroyed.
struct Providers {
  MetricsProvider* queue;
  ControllerMetricsProvider* controller;
};

Providers None() { return {nullptr, nullptr}; }

Providers Noop() { return {new NoopMetrics(), new NoopControllerMetrics()}; }

Providers Prometheus() {
  auto* const provider = PrometheusMetricsProvider::Create(
                             std::make_shared<prometheus::Registry>())
                             ->release();
  return {provider, provider};
}

template <typename Options, typename Provider>
Options Reporting(Provider* provider) {
  Options options;
  options.name = "benchmark";
  options.metrics_provider = provider;
  return options;
}

void GetDone(benchmark::State& state, const Providers& providers) {
  TestQueue queue(Reporting<QueueOptions<int64_t>>(providers.queue));
  for (auto _ : state) {
    queue.Add(0);
    queue.Done(*queue.Get());
  }
}

void Acquire(benchmark::State& state, const Providers& providers) {
  TestQueue queue(Reporting<QueueOptions<int64_t>>(providers.queue));
  for (auto _ : state) {
    queue.Add(0);
    queue.Acquire()->Done();
  }
}

void Priority(benchmark::State& state, const Providers& providers) {
  TestPriorityQueue queue(
      Reporting<PriorityQueueOptions<int64_t>>(providers.queue));
  for (auto _ : state) {
    queue.Add(0);
    queue.Acquire()->Done();
  }
}

void Reconcile(benchmark::State& state, const Providers& providers) {
  std::vector<int64_t> items(1000);
  std::iota(items.begin(), items.end(), 0);
  std::optional<absl::Notification> last_reconciled;

  auto options = Reporting<ControllerOptions<int64_t>>(providers.controller);
  options.queue_metrics_provider = providers.queue;
  options.reconcile =
      [&](int64_t item,
          const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
    if (item == items.back()) last_reconciled->Notify();
    return ReconcileResult();
  };
  const auto controller = *Controller<int64_t>::Create(std::move(options));
  if (!controller->Start().ok()) {
    state.SkipWithError("not started");
    return;
  }
  while (state.KeepRunningBatch(items.size())) {
    last_reconciled.emplace();
    controller->queue().AddAll(items);
    last_reconciled->WaitForNotification();
  }
}

void ReadClock(benchmark::State& state) {
  Clock* const clock = Clock::GetRealClock();
  for (auto _ : state) benchmark::DoNotOptimize(clock->TimeNow());
}

void RegisterAll() {
  using Case = void (*)(benchmark::State&, const Providers&);
  static const std::pair<const char*, Case> cases[] = {
      {"GetDone", GetDone},
      {"Acquire", Acquire},
      {"Priority", Priority},
      {"Reconcile", Reconcile},
  };
  static const std::pair<const char*, Providers> metrics[] = {
      {"none", None()},
      {"noop", Noop()},
      {"prometheus", Prometheus()},
  };
  for (const auto& [case_name, run] : cases) {
    for (const auto& [metrics_name, providers] : metrics) {
      auto* const family = benchmark::RegisterBenchmark(
          absl::StrCat(case_name, "/", metrics_name).c_str(), run,
          std::cref(providers));
      if (run == Reconcile) family->MeasureProcessCPUTime();
    }
  }
  benchmark::RegisterBenchmark("ReadClock", ReadClock);
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  workqueue::SecondThread second_thread;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  workqueue::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
