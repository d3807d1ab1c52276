// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/inputs.h
// -----------------------------------------------------------------------------
//
// The inputs of the cases. The programs in bench/peers have the same inputs.

#ifndef WORKQUEUE_BENCH_CASES_INPUTS_H_
#define WORKQUEUE_BENCH_CASES_INPUTS_H_

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/random_delays.h"

namespace workqueue {

inline constexpr int64_t kKeys = 65536;
inline constexpr int64_t kMillion = 1000000;

// Returns the i-th string key. All keys are different.
inline std::string StringKey(int64_t i) {
  return absl::StrCat("namespace-", i % 100, "/object-name-", i);
}

inline std::vector<std::string> StringKeys() {
  std::vector<std::string> keys;
  for (int64_t i = 0; i < kKeys; ++i) keys.push_back(StringKey(i));
  return keys;
}

inline std::vector<int64_t> IntKeys() {
  std::vector<int64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), 1);
  return keys;
}

inline RandomDelays FarDelays() {
  return RandomDelays(absl::Hours(1), absl::Hours(1300));
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_INPUTS_H_
