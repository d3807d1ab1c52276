// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_set_options.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace workqueue {

absl::StatusOr<WaitingSetOptions> WaitingSetOptions::TimingWheel(
    absl::Duration tick, size_t slots) {
  constexpr size_t kMostSlots = 1000000;
  if (tick < absl::Nanoseconds(1) || tick > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tick is ", absl::FormatDuration(tick),
                     "; it must be from 1ns to 24h"));
  }
  if (slots < 2 || slots > kMostSlots) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slots is ", slots, "; it must be from 2 to ", kMostSlots));
  }
  return WaitingSetOptions(absl::Trunc(tick, absl::Nanoseconds(1)), slots);
}

}  // namespace workqueue
