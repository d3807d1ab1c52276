// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/check_duration.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue::internal {
namespace {

absl::Status Check(bool holds, absl::string_view name, absl::Duration value,
                   absl::string_view requirement) {
  if (holds) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", absl::FormatDuration(value), "; it ", requirement));
}

}  // namespace

absl::Status CheckNotNegative(absl::string_view name, absl::Duration value) {
  const bool holds = value >= absl::ZeroDuration();
  return Check(holds, name, value, "must not be negative");
}

absl::Status CheckPositive(absl::string_view name, absl::Duration value) {
  const bool holds = value > absl::ZeroDuration();
  return Check(holds, name, value, "must be positive");
}

absl::Status CheckFiniteAndNotNegative(absl::string_view name,
                                       absl::Duration value) {
  const bool holds =
      value >= absl::ZeroDuration() && value < absl::InfiniteDuration();
  return Check(holds, name, value, "must be finite and not negative");
}

absl::Status CheckFiniteAndPositive(absl::string_view name,
                                    absl::Duration value) {
  const bool holds =
      value > absl::ZeroDuration() && value < absl::InfiniteDuration();
  return Check(holds, name, value, "must be finite and positive");
}

}  // namespace workqueue::internal
