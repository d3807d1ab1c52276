// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/soak_counts.h"

namespace workqueue {

const char* SoakCounts::NameOf(Event event) {
  static constexpr const char* kNames[] = {
      "adds",      "delayed adds", "reschedules",      "cancels that hit",
      "hand-outs", "snapshots",    "drains completed", "dropped by a shutdown",
  };
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kEvents);
  return kNames[event];
}

}  // namespace workqueue
