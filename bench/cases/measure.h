// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/measure.h
// -----------------------------------------------------------------------------
//
// Taking and printing figures, as the programs in bench/peers do. Google
// Benchmark is for one operation in a loop; most of the cases are not that.

#ifndef WORKQUEUE_BENCH_CASES_MEASURE_H_
#define WORKQUEUE_BENCH_CASES_MEASURE_H_

#include <chrono>  // NOLINT(build/c++11)
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

// Prints a figure of a case, as a line.
void Report(absl::string_view name, double value, absl::string_view unit);

// Returns how many nanoseconds each of `n` operations has taken since `start`.
inline double NsEach(SteadyTime start, int64_t n) {
  return absl::ToDoubleNanoseconds(absl::FromChrono(SteadyNow() - start)) / n;
}

// Returns how many nanoseconds one of the `n` operations of a pass takes. There
// is a pass to warm up, and then as many as half a second has room for.
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

// For what is done once: runs it with a tenth of `n` to warm up, and returns
// what it returns for `n`.
template <typename F>
double WarmedUp(int64_t n, F run) {
  run(n / 10);
  return run(n);
}

// Returns how much CPU time the calling thread has had.
absl::Duration ThreadCpuTime();

// Returns how many bytes of this process are resident when it has given back
// what it need not keep.
double ResidentBytes();

// Reports what the process costs a minute when nobody asks it for anything,
// having looked at it for `time`.
void ReportIdle(absl::Duration time);

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_MEASURE_H_
