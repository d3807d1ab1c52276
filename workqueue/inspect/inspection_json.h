// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECTION_JSON_H_
#define WORKQUEUE_INSPECT_INSPECTION_JSON_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "workqueue/inspect/inspection_registry.h"

namespace workqueue {

// Return inspections as JSON documents; docs/inspection.md describes them. The
// JSON is on one line, ends with a newline, and is valid UTF-8.
std::string InspectionJson(const std::vector<NamedInspection>& objects);
std::string InspectionJson(const NamedInspection& object);

// Returns `error` as a JSON document.
std::string InspectionErrorJson(const absl::Status& error);

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECTION_JSON_H_
