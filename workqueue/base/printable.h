// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/printable.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_PRINTABLE_H_
#define WORKQUEUE_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// The numbers of bytes of a name or an item, and of an error, that messages and
// printed snapshots contain.
constexpr size_t kPrintedItemBytes = 256;
constexpr size_t kPrintedErrorBytes = 1024;

// Returns `text` on one line, in characters that a terminal displays and does
// not act on. Escapes these bytes as `absl::CEscape()` does:
//
//   * backslashes,
//   * control characters, including those from U+0080 to U+009F,
//   * U+2028 to U+202E and U+2066 to U+2069, which break lines or change the
//     direction of the text,
//   * bytes that are not valid UTF-8.
//
// Of a longer text, returns at most the first `max_bytes` bytes, cut between
// two characters, followed by "... (N bytes)" with the size of `text`. If
// nothing was cut, `absl::CUnescape()` of the result is `text`.
//
// Takes O(`max_bytes`).
std::string Printable(absl::string_view text,
                      size_t max_bytes = kPrintedItemBytes);

// Returns `text` with U+FFFD in the place of each byte that is not valid UTF-8.
// This is for texts that leave the process in a format that is UTF-8 and has
// escapes of its own: labels of Prometheus, attributes of OpenTelemetry, HTML.
//
// Takes O(n) for n bytes.
std::string ToUtf8(absl::string_view text);

// Returns `status.ToString()` without the payloads with which the library marks
// errors: their type URLs begin with "workqueue/". Not printable.
std::string StatusText(const absl::Status& status);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_PRINTABLE_H_
