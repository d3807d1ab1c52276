// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/machine_cases.h
// -----------------------------------------------------------------------------
//
// The cost of operations that every queue needs, on this machine. bench/compare
// computes their share of a queue's figure.

#ifndef WORKQUEUE_BENCH_CASES_MACHINE_CASES_H_
#define WORKQUEUE_BENCH_CASES_MACHINE_CASES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "bench/cases/inputs.h"
#include "bench/cases/measure.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"

namespace workqueue {

// Prevents the compiler from removing the computation of `value`.
template <typename T>
void Use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Takes and releases an uncontended lock.
inline void Lock() {
  absl::Mutex mu;
  const double ns = NsPerOp(kMillion, [&mu] {
    for (int64_t i = 0; i < kMillion; ++i) {
      internal::MutexLock lock(&mu);
    }
  });
  Report("lock", ns, "ns");
}

// Writes a word atomically, twice. A lock whose waiters sleep costs at least
// this, because its release must check for sleeping waiters.
inline void TwoAtomics() {
  std::atomic<int> word{0};
  const double ns = NsPerOp(kMillion, [&word] {
    for (int64_t i = 0; i < kMillion; ++i) {
      Use(word.exchange(1, std::memory_order_acquire));
      Use(word.exchange(0, std::memory_order_release));
    }
  });
  Report("two_atomics", ns, "ns");
}

// Reads the clock that queues use.
inline void ReadClock() {
  Clock* const clock = Clock::GetRealClock();
  const double ns = NsPerOp(kMillion, [clock] {
    for (int64_t i = 0; i < kMillion; ++i) Use(clock->TimeNow());
  });
  Report("read_clock", ns, "ns");
}

// Copies a key, which allocates, and frees the copy.
inline void CopyKey() {
  const std::string key = StringKey(kKeys);
  const double ns = NsPerOp(kMillion, [&key] {
    for (int64_t i = 0; i < kMillion; ++i) Use(std::string(key));
  });
  Report("copy_key", ns, "ns");
}

// Reads a word that another core has written to.
inline void OtherCore() {
  const double ns = WarmedUp(kMillion, [](int64_t n) {
    std::atomic<int64_t> turn{0};
    const auto take_turns = [&turn, n](int64_t first) {
      for (int64_t i = first; i < n; i += 2) {
        while (turn.load(std::memory_order_acquire) != i) {
        }
        turn.store(i + 1, std::memory_order_release);
      }
    };
    const SteadyTime start = SteadyNow();
    std::thread other([&take_turns] { take_turns(1); });
    take_turns(0);
    other.join();
    return NsEach(start, n);
  });
  Report("other_core", ns, "ns");
}

// Passes a callback on as an asynchronous get does, without a queue: two layers
// pass it to a place, and a task of an inline executor takes it from there and
// calls it.
inline void Callback() {
  using Function = absl::AnyInvocable<void(int64_t) &&>;
  InlineExecutor executor;
  Function place;
  int64_t sum = 0;
  const double ns = NsPerOp(kMillion, [&] {
    for (int64_t i = 0; i < kMillion; ++i) {
      Function layer([&sum](int64_t n) { sum += n; });
      Use(layer);
      Function layer_below(std::move(layer));
      Use(layer_below);
      place = std::move(layer_below);
      Use(place);
      executor.Execute([&place, i] {
        Function callback(std::move(place));
        Use(callback);
        std::move(callback)(i);
      });
    }
  });
  Use(sum);
  Report("callback", ns, "ns");
}

// Writes to a gigabyte of new memory, a page at a time. A queue that grows to
// millions of items does the same, so its longest Add takes at least as long as
// the longest of these writes.
inline void NewPages() {
  constexpr int64_t kPages = 262144;
  constexpr int64_t kPageBytes = 4096;
  const std::unique_ptr<volatile char[]> memory(
      new volatile char[kPages * kPageBytes]);
  ReportLongest("pause_new_page", kPages,
                [&memory](int64_t page) { memory[page * kPageBytes] = 1; });
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_MACHINE_CASES_H_
