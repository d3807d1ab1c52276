// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/retry_after.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue {
namespace {

// The type URL of the payload that has the delay.
constexpr absl::string_view kRetryAfterUrl = "workqueue/RetryAfter";

constexpr absl::Duration LeastDelay() { return absl::Milliseconds(100); }

}  // namespace

absl::Status RetryAfterError(absl::Status error, absl::Duration delay) {
  if (error.ok()) {
    error =
        absl::InternalError("RetryAfterError() was called with an OK status");
  }
  if (delay == absl::InfiniteDuration()) return error;
  error.SetPayload(
      kRetryAfterUrl,
      absl::Cord(absl::FormatDuration(std::max(delay, absl::ZeroDuration()))));
  return error;
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& error) {
  const auto text = error.GetPayload(kRetryAfterUrl);
  absl::Duration delay;
  if (!text.has_value() || !absl::ParseDuration(std::string(*text), &delay) ||
      delay < absl::ZeroDuration() || delay == absl::InfiniteDuration()) {
    return std::nullopt;
  }
  return std::max(delay, LeastDelay());
}

}  // namespace workqueue
