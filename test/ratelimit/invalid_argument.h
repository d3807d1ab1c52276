// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_RATELIMIT_INVALID_ARGUMENT_H_
#define WORKQUEUE_TEST_RATELIMIT_INVALID_ARGUMENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"

namespace workqueue {

// Matches an `absl::InvalidArgumentError` whose message contains `field` and
// `value`.
MATCHER_P2(IsInvalidArgument, field, value, "") {
  *result_listener << arg.ToString();
  const std::string message(arg.message());
  return absl::IsInvalidArgument(arg) && absl::StrContains(message, field) &&
         absl::StrContains(message, value);
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_RATELIMIT_INVALID_ARGUMENT_H_
