// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/check_duration.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_CHECK_DURATION_H_
#define WORKQUEUE_INTERNAL_CHECK_DURATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// Return OK if `value` is not negative, or is positive; otherwise an
// `absl::InvalidArgumentError` that tells the value and `name`, which is that
// of the option it was given as. It may be infinite.
absl::Status CheckNotNegative(absl::string_view name, absl::Duration value);
absl::Status CheckPositive(absl::string_view name, absl::Duration value);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_CHECK_DURATION_H_
