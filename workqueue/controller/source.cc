// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"

namespace workqueue::internal {
namespace {

// That of client-go's Reflector.
constexpr absl::Duration kGoodRun = absl::Minutes(2);

}  // namespace

absl::Status CheckRestartBackoff(absl::string_view name,
                                 const RestartBackoff& backoff) {
  const std::string base = absl::StrCat(name, ".base_delay");
  const std::string max = absl::StrCat(name, ".max_delay");
  absl::Status status = CheckFiniteAndPositive(base, backoff.base_delay);
  status.Update(CheckFiniteAndPositive(max, backoff.max_delay));
  if (status.ok() && backoff.max_delay < backoff.base_delay) {
    return absl::InvalidArgumentError(
        absl::StrCat(max, " is ", absl::FormatDuration(backoff.max_delay),
                     "; it must be at least base_delay, which is ",
                     absl::FormatDuration(backoff.base_delay)));
  }
  return status;
}

void RestartDelays::SetHealthy(bool healthy, absl::Time now) {
  if (healthy == healthy_since_.has_value()) return;
  if (healthy) {
    healthy_since_ = now;
  } else {
    healthy_ += now - *healthy_since_;
    healthy_since_.reset();
  }
}

absl::Duration RestartDelays::Next(const RestartBackoff& backoff,
                                   absl::Time now) {
  SetHealthy(false, now);
  if (std::exchange(healthy_, absl::ZeroDuration()) >= kGoodRun) {
    delay_ = absl::ZeroDuration();
  }
  delay_ = std::clamp(2 * delay_, backoff.base_delay, backoff.max_delay);
  return delay_;
}

}  // namespace workqueue::internal
