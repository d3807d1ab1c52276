// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The waiting sets of a `DelayQueue`, the heap and the timing wheel, side by
// side. The figures help to choose one.
//
// The cases below begin with n values that wait, due in 1 h to 1,300 h, evenly
// spread. Times are per operation.
//   Push           -- push a value due at any of those times
//   PushAndCancel  -- push a value and cancel another, chosen at random: a
//                     timeout that never comes
//   PushAndCancelFirst
//                  -- push a value due within a second, before all others, then
//                     cancel it: a short timeout among long ones
//   Reset          -- give a value, chosen at random, another time
//   Tick           -- push a value, sleep for a tick until it is due, and take
//                     it: the cost of time that passes while others wait, here
//                     for 1,000 h or more
// The cases below begin with an empty queue:
//   Take           -- take each of n values due within an hour, at its time;
//                     `sleeps` is the number of the taker's sleeps per value
//                     (the sleep itself takes no time)
//   Draw           -- draw a random time; all other cases but Tick and Take
//                     include it
//
// The waiting sets:
//   heap           -- the default
//   wheel          -- WaitingSetOptions::TimingWheel(): 1 ms, 256 slots
//   wheel_1s_3600  -- a wheel with a tick of 1 s and 3,600 slots
//
// n is 1K, 100K and 1M, and with --ten_million also 10M, which takes 5 GB of
// memory. The name of a benchmark is CASE/SET/n.
//
//     tools/bazelw run -c opt //bench:waiting_set_benchmark
//
// `bench/growth` prints a table of all figures.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/random_delays.h"
#include "bench/second_thread.h"
#include "benchmark/benchmark.h"
#include "test/clock/virtual_clock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

struct Candidate {
  const char* name;
  WaitingSetOptions waiting_set;
};

DelayQueueOptions QueueOptions(const Candidate& candidate, Clock* clock) {
  DelayQueueOptions options;
  options.clock = clock;
  options.waiting_set = candidate.waiting_set;
  return options;
}

// A queue in which `n` values wait.
struct FullQueue {
  FullQueue(const Candidate& candidate, int64_t n,
            RandomDelays any_delay = {absl::Hours(1), absl::Hours(1300)})
      : queue(QueueOptions(candidate, &clock)), delays(any_delay) {
    handles.reserve(n);
    for (int64_t i = 0; i < n; ++i) {
      handles.push_back(queue.Push(i, delays.Next()));
    }
    absl::c_shuffle(handles, std::mt19937());
  }

  // Returns the handle of a value. Handles are stored in random order and taken
  // in turn, so that choosing one at random takes no time here.
  DelayQueueHandle& NextHandle() {
    if (++next_handle == handles.size()) next_handle = 0;
    return handles[next_handle];
  }

  VirtualClock clock;
  DelayQueue<int64_t> queue;
  RandomDelays delays;
  std::vector<DelayQueueHandle> handles;
  size_t next_handle = 0;
};

// Returns the same queue each time, since filling a queue takes long. The
// caller must leave `n` values in it, spread as evenly as before.
FullQueue& GetFullQueue(const Candidate& candidate, int64_t n) {
  static auto* const queues =
      new std::map<std::pair<const Candidate*, int64_t>, FullQueue>();
  return queues->try_emplace({&candidate, n}, candidate, n).first->second;
}

void Push(benchmark::State& state, const Candidate& candidate) {
  FullQueue& full = GetFullQueue(candidate, state.range(0));
  constexpr size_t kAtOnce = 256;
  std::vector<DelayQueueHandle> pushed;
  pushed.reserve(kAtOnce);
  const auto cancel_pushed = [&full, &pushed] {
    for (DelayQueueHandle handle : pushed) full.queue.Cancel(handle);
    pushed.clear();
  };
  for (auto _ : state) {
    if (pushed.size() == kAtOnce) {
      state.PauseTiming();
      cancel_pushed();
      state.ResumeTiming();
    }
    pushed.push_back(full.queue.Push(0, full.delays.Next()));
  }
  cancel_pushed();
}

void PushAndCancel(benchmark::State& state, const Candidate& candidate) {
  FullQueue& full = GetFullQueue(candidate, state.range(0));
  for (auto _ : state) {
    DelayQueueHandle& handle = full.NextHandle();
    const DelayQueueHandle pushed = full.queue.Push(0, full.delays.Next());
    full.queue.Cancel(handle);
    handle = pushed;
  }
}

void PushAndCancelFirst(benchmark::State& state, const Candidate& candidate) {
  FullQueue& full = GetFullQueue(candidate, state.range(0));
  RandomDelays delays(absl::ZeroDuration(), absl::Seconds(1));
  for (auto _ : state) {
    full.queue.Cancel(full.queue.Push(0, delays.Next()));
  }
}

void Reset(benchmark::State& state, const Candidate& candidate) {
  FullQueue& full = GetFullQueue(candidate, state.range(0));
  for (auto _ : state) {
    full.queue.Reset(full.NextHandle(), full.delays.Next());
  }
}

void Tick(benchmark::State& state, const Candidate& candidate) {
  FullQueue full(candidate, state.range(0),
                 {absl::Hours(1000), absl::Hours(1300)});
  for (auto _ : state) {
    full.queue.Push(0, absl::Milliseconds(1));
    benchmark::DoNotOptimize(full.queue.Take());
  }
}

void Take(benchmark::State& state, const Candidate& candidate) {
  const int64_t n = state.range(0);
  VirtualClock clock;
  DelayQueue<int64_t> queue(QueueOptions(candidate, &clock));
  RandomDelays delays(absl::ZeroDuration(), absl::Hours(1));
  while (state.KeepRunningBatch(n)) {
    state.PauseTiming();
    for (int64_t i = 0; i < n; ++i) queue.Push(i, delays.Next());
    state.ResumeTiming();
    for (int64_t i = 0; i < n; ++i) benchmark::DoNotOptimize(queue.Take());
  }
  state.counters["sleeps"] =
      benchmark::Counter(clock.sleeps(), benchmark::Counter::kAvgIterations);
}

void Draw(benchmark::State& state) {
  RandomDelays delays(absl::Hours(1), absl::Hours(1300));
  for (auto _ : state) benchmark::DoNotOptimize(delays.Next());
}

void RegisterAll(int64_t max_waiting) {
  using Case = void (*)(benchmark::State&, const Candidate&);
  static const std::pair<const char*, Case> cases[] = {
      {"Push", Push},
      {"PushAndCancel", PushAndCancel},
      {"PushAndCancelFirst", PushAndCancelFirst},
      {"Reset", Reset},
      {"Tick", Tick},
      {"Take", Take},
  };
  static const Candidate candidates[] = {
      {"heap", {}},
      {"wheel", *WaitingSetOptions::TimingWheel()},
      {"wheel_1s_3600",
       *WaitingSetOptions::TimingWheel(absl::Seconds(1), /*slots=*/3600)},
  };
  for (const auto& [case_name, run] : cases) {
    for (const Candidate& candidate : candidates) {
      auto* const family = benchmark::RegisterBenchmark(
          absl::StrCat(case_name, "/", candidate.name).c_str(), run,
          std::cref(candidate));
      // Few iterations, so that the waiting values do not become due.
      if (run == Tick) family->Iterations(1000000);
      for (int64_t n : {1000, 100000, 1000000, 10000000}) {
        if (n <= max_waiting) family->Arg(n);
      }
    }
  }
  benchmark::RegisterBenchmark("Draw", Draw);
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  workqueue::SecondThread second_thread;
  benchmark::Initialize(&argc, argv);
  const bool ten_million =
      argc == 2 && absl::string_view(argv[1]) == "--ten_million";
  if (!ten_million && benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  workqueue::RegisterAll(ten_million ? 10000000 : 1000000);
  benchmark::RunSpecifiedBenchmarks();
}
