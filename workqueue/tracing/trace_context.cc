// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/trace_context.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace {

// The length of a header of version 00.
constexpr size_t kLength = 55;

// The flags of version 00, sampled and random. It must not have others.
constexpr uint8_t kFlags = 0x03;

template <size_t kBytes>
bool IsZero(const std::array<uint8_t, kBytes>& bytes) {
  return absl::c_all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

template <size_t kBytes>
std::string ToHex(const std::array<uint8_t, kBytes>& bytes) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Returns the value of a lower-case digit; -1 if `c` is none.
int FromHex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

absl::Status Invalid(absl::string_view field, absl::string_view value,
                     absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", internal::Printable(value), "; ", why));
}

template <size_t kBytes>
absl::Status ReadHex(absl::string_view field, absl::string_view text,
                     std::array<uint8_t, kBytes>* bytes) {
  for (size_t i = 0; i < kBytes; ++i) {
    const int high = FromHex(text[2 * i]);
    const int low = FromHex(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Invalid(field, text, "it must be lower-case hexadecimal digits");
    }
    (*bytes)[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return absl::OkStatus();
}

}  // namespace

bool TraceContext::IsValid() const {
  return !IsZero(trace_id) && !IsZero(span_id);
}

std::string ToTraceParent(const TraceContext& context) {
  return absl::StrCat("00-", ToHex(context.trace_id), "-",
                      ToHex(context.span_id), "-",
                      absl::Hex(context.flags & kFlags, absl::kZeroPad2));
}

absl::StatusOr<TraceContext> ParseTraceParent(absl::string_view header) {
  if (header.size() < kLength) {
    return Invalid(
        "traceparent", header,
        absl::StrCat("it must have ", kLength, " bytes, not ", header.size()));
  }
  for (const size_t dash : {2, 35, 52}) {
    if (header[dash] == '-') continue;
    return Invalid("traceparent", header,
                   absl::StrCat("byte ", dash, " must be '-'"));
  }

  std::array<uint8_t, 1> version;
  absl::Status status = ReadHex("version", header.substr(0, 2), &version);
  if (!status.ok()) return status;
  if (version[0] == 0xff) return Invalid("version", "ff", "it is forbidden");
  if (version[0] == 0 && header.size() > kLength) {
    return Invalid("traceparent", header,
                   absl::StrCat("in version 00 it must have ", kLength,
                                " bytes, not ", header.size()));
  }
  if (header.size() > kLength && header[kLength] != '-') {
    return Invalid("traceparent", header,
                   absl::StrCat("byte ", kLength, " must be '-'"));
  }

  TraceContext context;
  std::array<uint8_t, 1> flags;
  status = ReadHex("trace-id", header.substr(3, 32), &context.trace_id);
  if (status.ok()) {
    status = ReadHex("parent-id", header.substr(36, 16), &context.span_id);
  }
  if (status.ok())
    status = ReadHex("trace-flags", header.substr(53, 2), &flags);
  if (!status.ok()) return status;
  if (IsZero(context.trace_id)) {
    return Invalid("trace-id", header.substr(3, 32), "it must not be zero");
  }
  if (IsZero(context.span_id)) {
    return Invalid("parent-id", header.substr(36, 16), "it must not be zero");
  }
  context.flags = flags[0];
  return context;
}

}  // namespace workqueue
