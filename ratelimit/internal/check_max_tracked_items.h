// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/internal/check_max_tracked_items.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_INTERNAL_CHECK_MAX_TRACKED_ITEMS_H_
#define WORKQUEUE_RATELIMIT_INTERNAL_CHECK_MAX_TRACKED_ITEMS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace workqueue {
namespace internal {

// Returns OK if `max_tracked_items` is at least one. Otherwise returns an
// `absl::InvalidArgumentError` that names the parameter and its value.
inline absl::Status CheckMaxTrackedItems(size_t max_tracked_items) {
  if (max_tracked_items > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "max_tracked_items must be at least 1, but is ", max_tracked_items));
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_CHECK_MAX_TRACKED_ITEMS_H_
