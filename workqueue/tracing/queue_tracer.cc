// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/queue_tracer.h"

#include "absl/strings/string_view.h"

namespace workqueue {

absl::string_view AddKindName(AddKind kind) {
  switch (kind) {
    case AddKind::kAdd:
      return "add";
    case AddKind::kAddAfter:
      return "add after";
    case AddKind::kReschedule:
      return "reschedule";
    case AddKind::kRetry:
      return "retry";
  }
  return "unknown";
}

}  // namespace workqueue
