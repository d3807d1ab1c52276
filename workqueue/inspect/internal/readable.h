// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_READABLE_H_
#define WORKQUEUE_INSPECT_INTERNAL_READABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue::internal {

// Returns `d` with the precision that a person needs: "3ms", "1.5s", "42s",
// "5m10s", "3h20m", "12d4h". A negative duration becomes "0s", an infinite one
// "inf".
std::string ReadableDuration(absl::Duration d);

// Returns `time` in UTC, with its day if this is not the day of `now`:
// "09:30:00 UTC" or "2026-01-02 09:30:00 UTC".
std::string ReadableTime(absl::Time time, absl::Time now);

// Returns a number with commas: "1,234,567".
std::string ReadableNumber(size_t n);

// Returns "1 item" or "1,234 items".
std::string ReadableCount(size_t n, absl::string_view noun);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_READABLE_H_
