// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/document.h
// -----------------------------------------------------------------------------
//
// The functions below read documents of docs/inspection.md. The documents come
// from a server, and may contain anything.

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_DOCUMENT_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_DOCUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Returns the error that `document` contains, or an empty text if it contains
// none. Returns `absl::DataLossError` if the text is no document.
absl::StatusOr<std::string> DocumentError(absl::string_view document);

// Returns the same document, which must be one, in ASCII without control
// characters, so that a terminal can display it.
std::string AsciiDocument(absl::string_view document);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_DOCUMENT_H_
