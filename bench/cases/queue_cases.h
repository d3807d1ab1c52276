// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/queue_cases.h
// -----------------------------------------------------------------------------
//
// The cases of a queue that deduplicates. `Queue<T>` is a queue of `T`. It must
// have the functions of `RateLimitingInterface` that a case calls. The first
// delay of its rate limiter is 1 ns.

#ifndef WORKQUEUE_BENCH_CASES_QUEUE_CASES_H_
#define WORKQUEUE_BENCH_CASES_QUEUE_CASES_H_

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "bench/cases/inputs.h"
#include "bench/cases/measure.h"

namespace workqueue {

template <typename Queue, typename T>
double Cycle(const std::vector<T>& keys) {
  Queue queue;
  return NsPerOp(keys.size(), [&queue, &keys] {
    for (const T& key : keys) {
      queue.Add(key);
      const std::optional<T> item = queue.Get();
      queue.Done(*item);
    }
  });
}

template <template <typename> class Queue>
void CycleString() {
  Report("cycle_string", Cycle<Queue<std::string>>(StringKeys()), "ns");
}

template <template <typename> class Queue>
void CycleInt() {
  Report("cycle_int", Cycle<Queue<int64_t>>(IntKeys()), "ns");
}

template <template <typename> class Queue>
void CycleLease(absl::string_view name) {
  Queue<std::string> queue;
  const std::vector<std::string> keys = StringKeys();
  typename Queue<std::string>::Lease lease;
  const double ns = NsPerOp(kKeys, [&queue, &keys, &lease] {
    for (const std::string& key : keys) {
      queue.Add(key);
      (void)queue.AcquireNext(&lease);
    }
  });
  Report(name, ns, "ns");
}

template <template <typename> class Queue>
void CycleBatch() {
  constexpr size_t kBatch = 64;
  Queue<std::string> queue;
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (size_t i = 0; i < keys.size(); i += kBatch) {
      queue.AddAll(absl::MakeConstSpan(keys).subspan(i, kBatch));
      const auto leases = queue.AcquireUpTo(kBatch);
    }
  });
  Report("cycle_batch", ns, "ns");
}

// The queue has equal keys, but other objects, because an event handler builds
// its keys.
template <template <typename> class Queue>
void AddDuplicate() {
  Queue<std::string> queue;
  for (const std::string& key : StringKeys()) queue.Add(key);
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (const std::string& key : keys) queue.Add(key);
    queue.Len();
  });
  Report("add_duplicate", ns, "ns");
}

// The same, 64 at a time, as a resync that collects its keys does.
template <template <typename> class Queue>
void AddDuplicateBatch() {
  constexpr size_t kBatch = 64;
  Queue<std::string> queue;
  queue.AddAll(StringKeys());
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (size_t i = 0; i < keys.size(); i += kBatch) {
      queue.AddAll(absl::MakeConstSpan(keys).subspan(i, kBatch));
    }
    queue.Len();
  });
  Report("add_duplicate_batch", ns, "ns");
}

template <template <typename> class Queue>
void FillDrain() {
  Queue<std::string> queue;
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (const std::string& key : keys) queue.Add(key);
    for (int64_t i = 0; i < kKeys; ++i) {
      const std::optional<std::string> item = queue.Get();
      queue.Done(*item);
    }
  });
  Report("fill_drain", ns, "ns");
}

// Works for a microsecond, as a thread does between two calls of a queue.
inline void Work() {
  const SteadyTime end = SteadyNow() + std::chrono::microseconds(1);
  while (SteadyNow() < end) {
  }
}

// Each producer adds its share of a million keys, and calls `work` before each
// Add. Each consumer gets its share, and calls `work` after each Get.
template <template <typename> class Queue, int producers, int consumers,
          typename F>
void Mpmc(absl::string_view name, F work) {
  const double ns = WarmedUp(kMillion, [work](int64_t n) {
    Queue<int64_t> queue;
    std::vector<std::thread> threads;
    const SteadyTime start = SteadyNow();
    for (int64_t p = 0; p < producers; ++p) {
      threads.emplace_back([&queue, work, p, share = n / producers] {
        for (int64_t i = 0; i < share; ++i) {
          work();
          queue.Add(p * share + i + 1);
        }
      });
    }
    for (int64_t c = 0; c < consumers; ++c) {
      threads.emplace_back([&queue, work, share = n / consumers] {
        for (int64_t i = 0; i < share; ++i) {
          const std::optional<int64_t> item = queue.Get();
          work();
          queue.Done(*item);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return NsEach(start, n);
  });
  Report(absl::StrCat(name, "_", producers, "_", consumers), ns, "ns");
}

template <template <typename> class Queue, int producers, int consumers>
void Mpmc() {
  Mpmc<Queue, producers, consumers>("mpmc", [] {});
}

template <template <typename> class Queue, int producers, int consumers>
void MpmcWork() {
  Mpmc<Queue, producers, consumers>("mpmc_work", Work);
}

// The time from the beginning of an Add until a worker, which was blocked in a
// Get, has the item. One item at a time, while `workers` workers are blocked.
template <template <typename> class Queue, int workers>
void Handover(absl::string_view name) {
  constexpr size_t kSamples = 2000;
  constexpr size_t kWarmUp = 200;
  // After this time, a worker that had an item blocks in a Get again.
  constexpr absl::Duration kPause = absl::Microseconds(200);
  Queue<int64_t> queue;
  SteadyTime added;
  std::vector<double> took_us;
  std::atomic<size_t> taken{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&queue, &added, &took_us, &taken] {
      while (true) {
        const std::optional<int64_t> item = queue.Get();
        if (*item < 0) break;
        took_us.push_back(
            absl::ToDoubleMicroseconds(absl::FromChrono(SteadyNow() - added)));
        queue.Done(*item);
        ++taken;
      }
    });
  }
  for (size_t i = 1; i <= kWarmUp + kSamples; ++i) {
    absl::SleepFor(kPause);
    added = SteadyNow();
    queue.Add(static_cast<int64_t>(i));
    while (taken < i) absl::SleepFor(kPause / 10);
  }
  for (int64_t w = 1; w <= workers; ++w) queue.Add(-w);  // ends a worker
  for (std::thread& thread : threads) thread.join();
  took_us.erase(took_us.begin(), took_us.begin() + kWarmUp);
  absl::c_sort(took_us);
  Report(absl::StrCat(name, "_p50"), took_us[kSamples * 50 / 100], "us");
  Report(absl::StrCat(name, "_p99"), took_us[kSamples * 99 / 100], "us");
}

// The cost of adding to a long queue that many workers use
// (https://github.com/kubernetes-sigs/controller-runtime/pull/3415). One figure
// is in elapsed time, which includes the wait for a core. The other figure is
// in CPU time of the adding thread.
template <template <typename> class Queue>
void BlockedWorkers() {
  constexpr int kWorkers = 1000;
  constexpr int64_t kAdds = 20000;
  double cpu_ns = 0;
  const double ns = WarmedUp(kMillion, [&cpu_ns](int64_t queued) {
    Queue<int64_t> queue;
    for (int64_t i = 0; i < queued; ++i) queue.Add(i + 1);

    std::atomic<bool> stopped{false};
    std::atomic<int> at_work{0};
    std::vector<std::thread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&queue, &stopped, &at_work] {
        for (bool first = true; !stopped; first = false) {
          const std::optional<int64_t> item = queue.Get();
          if (first) ++at_work;
          absl::SleepFor(absl::Milliseconds(1));
          queue.Done(*item);
        }
      });
    }
    // The first workers may empty the queue before the last ones have an item.
    for (int64_t key = -1; at_work < kWorkers; --key) {
      queue.Add(key);
      absl::SleepFor(absl::Microseconds(100));
    }
    const absl::Duration cpu_before = ThreadCpuTime();
    const SteadyTime start = SteadyNow();
    for (int64_t i = 0; i < kAdds; ++i) queue.Add(queued + i + 1);
    const double each = NsEach(start, kAdds);
    cpu_ns = absl::ToDoubleNanoseconds(ThreadCpuTime() - cpu_before) / kAdds;
    stopped = true;
    // One item for each worker, so that no worker waits forever.
    for (int64_t w = 1; w <= kWorkers; ++w) queue.Add(queued + kAdds + w);
    for (std::thread& worker : workers) worker.join();
    return each;
  });
  Report("blocked_workers", ns, "ns");
  Report("blocked_workers_cpu", cpu_ns, "ns");
}

template <template <typename> class Queue>
void AddAfterThrough() {
  const double ns = WarmedUp(kMillion / 2, [](int64_t n) {
    Queue<int64_t> queue;
    const SteadyTime start = SteadyNow();
    std::thread producer([&queue, n] {
      for (int64_t i = 0; i < n; ++i) {
        queue.AddAfter(i + 1, absl::Milliseconds(1));
      }
    });
    for (int64_t i = 0; i < n; ++i) {
      const std::optional<int64_t> item = queue.Get();
      queue.Done(*item);
    }
    const double each = NsEach(start, n);
    producer.join();
    return each;
  });
  Report("add_after_through", ns, "ns");
}

// A container that moves all its contents makes one call wait for that.
template <template <typename> class Queue>
void Pause() {
  constexpr int64_t kItems = 10 * kMillion;
  {
    Queue<int64_t> queue;
    const auto add = [&queue](int64_t i) { queue.Add(i + 1); };
    const auto get_done = [&queue](int64_t) { queue.Done(*queue.Get()); };
    ReportLongest("pause_add", kItems, add);
    ReportLongest("pause_get_done", kItems, get_done);
  }
  Queue<int64_t> queue;
  RandomDelays delays = FarDelays();
  const auto add_after = [&queue, &delays](int64_t i) {
    queue.AddAfter(i + 1, delays.Next());
  };
  ReportLongest("pause_add_after", kItems, add_after);
}

template <template <typename> class Queue>
void RateLimited() {
  Queue<std::string> queue;
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (const std::string& key : keys) {
      queue.AddRateLimited(key);
      const std::optional<std::string> item = queue.Get();
      queue.Forget(*item);
      queue.Done(*item);
    }
  });
  Report("rate_limited", ns, "ns");
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_QUEUE_CASES_H_
