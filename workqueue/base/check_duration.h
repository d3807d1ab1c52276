// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_CHECK_DURATION_H_
#define WORKQUEUE_BASE_CHECK_DURATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue::internal {

// Each of these functions returns OK if `value` has the property in the
// function's name. Otherwise it returns an `absl::InvalidArgumentError` that
// contains `name`, the name of the option or parameter, and `value`.
// `CheckNotNegative()` and `CheckPositive()` accept an infinite value.
absl::Status CheckNotNegative(absl::string_view name, absl::Duration value);
absl::Status CheckPositive(absl::string_view name, absl::Duration value);
absl::Status CheckFiniteAndNotNegative(absl::string_view name,
                                       absl::Duration value);
absl::Status CheckFiniteAndPositive(absl::string_view name,
                                    absl::Duration value);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_CHECK_DURATION_H_
