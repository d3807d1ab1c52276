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

// An argument or result of an operation. An item is a string, and so is what
// stands in its place, such as `<shutdown>`.
using Value = std::variant<std::string, bool, int64_t, double, absl::Duration>;

// How a value is written in a trace.
enum class Type { kNone, kItem, kBoolean, kInteger, kDecimal, kDuration };

// What an operation returned, or should have; empty if it has no result.
using Result = std::vector<Value>;

// Reads `text` as a duration: Go's syntax and range.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Reads all of `text` as a value of `type`, which is not `kNone`.
absl::StatusOr<Value> ParseValue(Type type, absl::string_view text);

// Whether `want` and `got` are the same, or differ by no more than `tolerance`
// in a decimal, or as many seconds in a duration.
bool Agree(const Result& want, const Result& got, double tolerance);

// Returns `result` as it would be written in a trace.
std::string Format(const Result& result);

// Returns `text` in quotes, with what can't be printed escaped.
std::string Quote(absl::string_view text);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_VALUE_H_
