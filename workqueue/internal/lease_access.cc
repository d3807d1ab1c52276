// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/lease_access.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "workqueue/base/log.h"

namespace workqueue {
namespace internal {

void LeaseCount::DieOfLeases(size_t left) {
  Fatal(absl::StrCat("a queue is destroyed before its leases; left: ", left));
}

}  // namespace internal
}  // namespace workqueue
