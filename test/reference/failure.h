// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_FAILURE_H_
#define WORKQUEUE_TEST_REFERENCE_FAILURE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "test/reference/subject.h"

namespace reference {

// Runs `subject` with `bytes` as choices. If the subject disagrees with its
// model, returns a description of the disagreement, the operations of the
// shortest run that shows it, and the command that repeats that run. Otherwise
// returns an empty string.
std::string FindFailure(const Subject& subject,
                        absl::Span<const uint8_t> bytes);

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_FAILURE_H_
