// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/acquire_errors.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_ACQUIRE_ERRORS_H_
#define WORKQUEUE_INTERNAL_ACQUIRE_ERRORS_H_

#include "absl/status/status.h"

namespace workqueue {
namespace internal {

// Returns the error of `Interface::AcquireUpTo(0)`.
inline absl::Status ZeroMaxError() {
  return absl::InvalidArgumentError("max is 0; it must be at least 1");
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ACQUIRE_ERRORS_H_
