// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/failure.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_FAILURE_H_
#define WORKQUEUE_TEST_REFERENCE_FAILURE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "test/reference/subject.h"

namespace reference {

// Runs `subject` as `bytes` choose. If it disagrees with its model, returns in
// what, the operations of the shortest run that does so, and how to repeat
// that; otherwise an empty string.
std::string FindFailure(const Subject& subject,
                        absl::Span<const uint8_t> bytes);

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_FAILURE_H_
