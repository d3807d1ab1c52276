// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/measure.h
// -----------------------------------------------------------------------------
//
// Functions that take and print figures, as the programs in bench/peers do.
// Google Benchmark measures one operation in a loop; most cases are different.

#ifndef WORKQUEUE_BENCH_CASES_MEASURE_H_
#define WORKQUEUE_BENCH_CASES_MEASURE_H_

#include <algorithm>
#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

// Prints one figure of a case, as a line.
void Report(absl::string_view name, double value, absl::string_view unit);

// Returns the nanoseconds since `start`, divided by `n` operations.
inline double NsEach(SteadyTime start, int64_t n) {
  return absl::ToDoubleNanoseconds(absl::FromChrono(SteadyNow() - start)) / n;
}

// Returns the nanoseconds of one operation. `pass` does `n` operations. It runs
// once to warm up, and then repeatedly for half a second.
template <typename F>
double NsPerOp(int64_t n, F pass) {
  pass();
  const SteadyTime start = SteadyNow();
  int64_t passes = 0;
  do {
    pass();
    ++passes;
  } while (SteadyNow() - start < std::chrono::milliseconds(500));
  return NsEach(start, n * passes);
}

// Returns `run(n)`, after a call with a tenth of `n` to warm up. For cases that
// run once.
template <typename F>
double WarmedUp(int64_t n, F run) {
  run(n / 10);
  return run(n);
}

// Return the CPU time of the calling thread, and of all threads.
absl::Duration ThreadCpuTime();
absl::Duration ProcessCpuTime();

// Calls `call(0)` to `call(n - 1)`, and reports the longest time of a call and
// the longest CPU time of a call. Only the former includes the time in which
// another thread or another process had the core.
template <typename F>
void ReportLongest(absl::string_view name, int64_t n, F call) {
  absl::Duration longest, longest_cpu;
  for (int64_t i = 0; i < n; ++i) {
    const absl::Duration cpu_before = ThreadCpuTime();
    const SteadyTime before = SteadyNow();
    call(i);
    longest = std::max(longest, absl::FromChrono(SteadyNow() - before));
    longest_cpu = std::max(longest_cpu, ThreadCpuTime() - cpu_before);
  }
  Report(name, absl::ToDoubleMicroseconds(longest), "us");
  Report(absl::StrCat(name, "_cpu"), absl::ToDoubleMicroseconds(longest_cpu),
         "us");
}

// Returns the resident bytes of this process, after it has freed the memory
// that malloc() keeps for reuse.
double ResidentBytes();

// Observes the idle process for `time`, and reports its cost in a minute.
void ReportIdle(absl::Duration time);

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_MEASURE_H_
