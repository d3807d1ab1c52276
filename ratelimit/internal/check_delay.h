// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/internal/check_delay.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_INTERNAL_CHECK_DELAY_H_
#define WORKQUEUE_RATELIMIT_INTERNAL_CHECK_DELAY_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// Returns OK if `delay` is finite and not negative, otherwise an
// `absl::InvalidArgumentError` that tells its value and `name`, which is that
// of the parameter it was passed as.
inline absl::Status CheckDelay(absl::string_view name, absl::Duration delay) {
  if (delay >= absl::ZeroDuration() && delay < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be finite and not negative, but is ",
                   absl::FormatDuration(delay)));
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_INTERNAL_CHECK_DELAY_H_
