// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_SHRINK_H_
#define WORKQUEUE_TEST_REFERENCE_SHRINK_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace reference {

// Shrink()
//
// Shrinks the choices of a failing run. `bytes` are the choices, and
// `fails(bytes)` must be true. Removes whole operations, many at first and then
// fewer, and then sets single bytes to zero, as long as `fails` stays true.
// Returns the result. The algorithm is Zeller's delta debugging. The first
// operation, which sets up the run, is simplified but not removed.
//
// Calls `fails` at most `max_runs` times.
std::vector<uint8_t> Shrink(
    std::vector<uint8_t> bytes,
    absl::FunctionRef<bool(const std::vector<uint8_t>&)> fails,
    int max_runs = 20000);

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_SHRINK_H_
