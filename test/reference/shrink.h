// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/shrink.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_SHRINK_H_
#define WORKQUEUE_TEST_REFERENCE_SHRINK_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace reference {

// Shrink()
//
// Returns what is left of `bytes`, which are a run's choices and for which
// `fails` is true, when as much has been taken out and made zero as can be
// without `fails` being false: whole operations, many at first and fewer each
// time, and then single bytes. (This is Zeller's delta debugging.) The first
// operation, which sets up the run, is only made plainer.
//
// Calls `fails` no more than `max_runs` times.
std::vector<uint8_t> Shrink(
    std::vector<uint8_t> bytes,
    absl::FunctionRef<bool(const std::vector<uint8_t>&)> fails,
    int max_runs = 20000);

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_SHRINK_H_
