// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/internal/source_status.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_SOURCE_STATUS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_SOURCE_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Returns `status` with "source `name`: " put before its message. Keeps the
// code and the payloads. Returns an OK status unchanged.
absl::Status AnnotateWithSource(absl::string_view name,
                                const absl::Status& status);

// Returns `status` with its message as `Printable()` returns it. Keeps the code
// and the payloads.
absl::Status WithPrintableMessage(const absl::Status& status);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_SOURCE_STATUS_H_
