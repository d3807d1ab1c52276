// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/tables.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_TABLES_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_TABLES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Return a document of docs/inspection.md as tables for a terminal: the one of
// all objects, of one object, and of the item `key` of an object. The document
// may come from any server: a member that is missing or has another type counts
// as zero or empty, and the result has no characters that a terminal acts on
// but newlines.
//
// Return `absl::DataLossError` if the document has another version.
absl::StatusOr<std::string> OverviewTables(absl::string_view document);
absl::StatusOr<std::string> ObjectTables(absl::string_view document);
absl::StatusOr<std::string> ItemTables(absl::string_view document,
                                       absl::string_view key);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_TABLES_H_
