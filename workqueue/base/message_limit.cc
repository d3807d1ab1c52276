// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/message_limit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"

namespace workqueue {
namespace internal {

std::optional<int64_t> MessageLimit::Admit(absl::Time now) {
  MutexLock lock(&mu_);
  // The clock has gone back.
  if (rested_at_ > now + kBurst * Period()) rested_at_ = now;
  const absl::Time rested_at = std::max(rested_at_, now) + Period();
  if (rested_at > now + kBurst * Period()) {
    ++left_out_;
    return std::nullopt;
  }
  rested_at_ = rested_at;
  return std::exchange(left_out_, 0);
}

void MessageLimit::LeaveOut() {
  MutexLock lock(&mu_);
  ++left_out_;
}

std::string LeftOut(int64_t left_out) {
  if (left_out == 0) return "";
  return absl::StrCat(" (errors left out before: ", left_out, ")");
}

}  // namespace internal
}  // namespace workqueue
