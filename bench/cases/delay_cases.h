// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/delay_cases.h
// -----------------------------------------------------------------------------
//
// The cases of classes that have delays. A case uses a class as a delayer
// (bench/cases/delayers.h).

#ifndef WORKQUEUE_BENCH_CASES_DELAY_CASES_H_
#define WORKQUEUE_BENCH_CASES_DELAY_CASES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/time/time.h"
#include "bench/cases/inputs.h"
#include "bench/cases/measure.h"
#include "bench/random_delays.h"

namespace workqueue {

template <template <typename> class Delayer>
void AddAfterFar() {
  for (const int64_t n : {kMillion / 10, kMillion}) {  // first to warm up
    Delayer<int64_t> delayer;
    RandomDelays delays = FarDelays();
    const SteadyTime start = SteadyNow();
    for (int64_t i = 0; i < n; ++i) delayer.Add(i + 1, delays.Next());
    const double added = NsEach(start, n);
    delayer.AwaitTakenIn();
    const double taken_in = NsEach(start, n);
    if (n < kMillion) continue;
    Report("add_after_far", added, "ns");
    if (delayer.kTakesInLater) {
      Report("add_after_far_taken_in", taken_in, "ns");
    }
  }
}

template <template <typename> class Delayer>
void PendingMemory() {
  Delayer<std::string> delayer;
  const double before = ResidentBytes();
  RandomDelays delays = FarDelays();
  for (int64_t i = 0; i < kMillion; ++i) {
    delayer.Add(StringKey(i), delays.Next());
  }
  delayer.AwaitTakenIn();
  Report("pending_memory", (ResidentBytes() - before) / kMillion, "B");
}

template <template <typename> class Delayer>
void Lateness() {
  constexpr size_t kSamples = 1000;
  constexpr size_t kWarmUp = 100;
  constexpr absl::Duration kDelay = absl::Milliseconds(2);
  Delayer<int64_t> delayer;
  std::vector<double> late_us;
  for (size_t i = 0; i < kWarmUp + kSamples; ++i) {
    const SteadyTime added = SteadyNow();
    delayer.Add(1, kDelay);
    const absl::Duration took = absl::FromChrono(delayer.Take() - added);
    if (i >= kWarmUp) {
      late_us.push_back(absl::ToDoubleMicroseconds(took - kDelay));
    }
  }
  absl::c_sort(late_us);
  Report("lateness_p50", late_us[kSamples * 50 / 100], "us");
  Report("lateness_p99", late_us[kSamples * 99 / 100], "us");
}

template <template <typename> class Delayer>
void Idle(absl::Duration time) {
  Delayer<int64_t> delayer;
  delayer.Add(1, absl::Hours(1));
  std::thread taker([&delayer] { delayer.Take(); });
  ReportIdle(time);
  delayer.Add(2, absl::ZeroDuration());
  taker.join();
}

// Returns the nanoseconds of one add while `waiting` items wait. Measures as
// many adds as items wait, but at most 100,000, and repeats a small number of
// adds.
template <typename Delayer>
double AddAmong(int64_t waiting) {
  constexpr int64_t kMaxAdds = 100000;
  constexpr int64_t kEnoughAdds = 20000;
  const int64_t adds = std::min(waiting, kMaxAdds);
  const int64_t rounds = std::max<int64_t>(1, kEnoughAdds / adds);
  double sum = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    Delayer delayer;
    RandomDelays delays = FarDelays();
    for (int64_t i = 0; i < waiting; ++i) delayer.Add(i + 1, delays.Next());
    delayer.AwaitTakenIn();
    const SteadyTime start = SteadyNow();
    for (int64_t i = 0; i < adds; ++i) {
      delayer.Add(waiting + i + 1, delays.Next());
    }
    delayer.AwaitTakenIn();
    sum += NsEach(start, adds);
  }
  return sum / rounds;
}

template <template <typename> class Delayer>
void Growth() {
  using IntDelayer = Delayer<int64_t>;
  Report("growth_1K", AddAmong<IntDelayer>(1000), "ns");
  Report("growth_100K", AddAmong<IntDelayer>(100000), "ns");
  Report("growth_1M", AddAmong<IntDelayer>(kMillion), "ns");
  Report("growth_10M", AddAmong<IntDelayer>(10 * kMillion), "ns");
}

// Requires a delay queue.
template <template <typename> class Queue>
void PushTake() {
  Queue<int64_t> queue;
  const double ns = NsPerOp(kMillion, [&queue] {
    for (int64_t i = 0; i < kMillion; ++i) queue.Push(i, absl::ZeroDuration());
    for (int64_t i = 0; i < kMillion; ++i) queue.Take();
  });
  Report("push_take", ns, "ns");
}

// Requires a delay queue. A container that moves all its contents makes one
// call wait for that.
template <template <typename> class Queue>
void DelayQueuePause() {
  constexpr int64_t kValues = 10 * kMillion;
  {
    Queue<int64_t> queue;
    RandomDelays delays = FarDelays();
    const auto push = [&queue, &delays](int64_t i) {
      queue.Push(i, delays.Next());
    };
    ReportLongest("pause_push", kValues, push);
  }
  Queue<int64_t> queue;
  const auto push = [&queue](int64_t i) {
    queue.Push(i, absl::ZeroDuration());
  };
  const auto take = [&queue](int64_t) { queue.Take(); };
  ReportLongest("pause_push_due", kValues, push);
  ReportLongest("pause_take", kValues, take);
}

// Requires a delayer whose `Add()` returns a value that `Cancel()` takes.
template <template <typename> class Delayer>
void ScheduleCancel() {
  constexpr int64_t kTasks = 100000;
  std::vector<size_t> order(kTasks);
  absl::c_iota(order, 0);
  for (const char* name : {"schedule_cancel", "schedule_cancel_shuffled"}) {
    Delayer<int64_t> delayer;
    std::vector<decltype(delayer.Add(0, absl::Hours(1)))> scheduled(kTasks);
    const double ns = NsPerOp(kTasks, [&delayer, &scheduled, &order] {
      for (int64_t i = 0; i < kTasks; ++i) {
        scheduled[i] = delayer.Add(i, absl::Hours(1));
      }
      for (const size_t i : order) delayer.Cancel(scheduled[i]);
    });
    Report(name, ns, "ns");
    absl::c_shuffle(order, std::mt19937());
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_DELAY_CASES_H_
