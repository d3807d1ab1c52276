// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/forwarding_queue.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {

absl::Status CheckQueueBelow(absl::string_view name, bool given,
                             bool has_ordering, bool clocks_differ) {
  if (!given) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is null; the layer above needs a queue"));
  }
  if (has_ordering) {
    return absl::InvalidArgumentError(
        absl::StrCat("ordering is given, and ", name,
                     ", too; the queue below has an order of its own"));
  }
  if (clocks_differ) {
    return absl::InvalidArgumentError(
        absl::StrCat("clock is not that of ", name,
                     "; the layer and the queue below need the same clock"));
  }
  return absl::OkStatus();
}

}  // namespace workqueue::internal
