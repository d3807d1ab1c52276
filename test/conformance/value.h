// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_VALUE_H_
#define WORKQUEUE_TEST_CONFORMANCE_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace conformance {

// An argument or result of an operation. An item is a string. So is a special
// result, for example `<shutdown>`.
using Value = std::variant<std::string, bool, int64_t, double, absl::Duration>;

// The syntax of a value in a trace.
enum class Type { kNone, kItem, kBoolean, kInteger, kDecimal, kDuration };

// The result that an operation returned or should return. Empty if the
// operation has no result.
using Result = std::vector<Value>;

// Parses `text` as a duration with Go's syntax and range.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Parses the whole of `text` as a value of `type`, which must not be `kNone`.
absl::StatusOr<Value> ParseValue(Type type, absl::string_view text);

// Returns whether `want` and `got` are equal. Decimals may differ by
// `tolerance`, and durations by `tolerance` seconds.
bool Agree(const Result& want, const Result& got, double tolerance);

// Returns `result` in the syntax of a trace.
std::string Format(const Result& result);

// Returns `text` in quotes, with unprintable characters escaped.
std::string Quote(absl::string_view text);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_VALUE_H_
