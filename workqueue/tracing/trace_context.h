// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TRACING_TRACE_CONTEXT_H_
#define WORKQUEUE_TRACING_TRACE_CONTEXT_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace workqueue {

// TraceContext
//
// Names one operation of a distributed trace, as the W3C's recommendation
// "Trace Context" does (https://www.w3.org/TR/trace-context/): the trace, the
// operation in it (a "span", or "parent" in the recommendation), and flags.
//
// A value of 25 bytes. The default value names nothing.
struct TraceContext {
  // The bit of `flags` that says that the caller may have recorded the trace.
  static constexpr uint8_t kSampled = 0x01;

  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};
  uint8_t flags = 0;

  // Returns whether this names an operation: neither id consists of zeros only.
  bool IsValid() const;

  bool sampled() const { return (flags & kSampled) != 0; }

  friend bool operator==(const TraceContext& a, const TraceContext& b) {
    return a.trace_id == b.trace_id && a.span_id == b.span_id &&
           a.flags == b.flags;
  }
  friend bool operator!=(const TraceContext& a, const TraceContext& b) {
    return !(a == b);
  }
};

// Returns the value of the header `traceparent` for `context`, in version 00:
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". The header of an
// invalid context is invalid.
std::string ToTraceParent(const TraceContext& context);

// Returns the context in `header`, the value of a header `traceparent`, without
// blanks around it. A header of a later version may be longer: as the
// recommendation says, the fields of version 00 are read, and the rest is
// ignored.
//
// Returns `absl::InvalidArgumentError`, which names the field and its value, if
// `header` is not what the recommendation says: too short or too long, a field
// with a byte that is no lower-case hexadecimal digit, the version ff, or an id
// of zeros only.
absl::StatusOr<TraceContext> ParseTraceParent(absl::string_view header);

}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_TRACE_CONTEXT_H_
