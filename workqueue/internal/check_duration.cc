// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/check_duration.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

absl::Status CheckNotNegative(absl::string_view name, absl::Duration value) {
  if (value >= absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", absl::FormatDuration(value), "; it must not be negative"));
}

absl::Status CheckPositive(absl::string_view name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", absl::FormatDuration(value), "; it must be positive"));
}

}  // namespace internal
}  // namespace workqueue
