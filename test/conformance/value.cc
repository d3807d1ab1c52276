// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/value.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace conformance {
namespace {

absl::Status NotA(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(Quote(text), " is not ", what));
}

struct Agreement {
  double tolerance;

  bool operator()(double want, double got) const {
    return std::abs(want - got) <= tolerance;
  }
  bool operator()(absl::Duration want, absl::Duration got) const {
    // The value that 2^63 ns becomes in Go on some machines. It stands for the
    // maximum.
    constexpr absl::Duration kGoOverflow =
        absl::Nanoseconds(std::numeric_limits<int64_t>::min());
    if (want == kGoOverflow) return got >= absl::ZeroDuration();
    return want == got ||
           absl::AbsDuration(want - got) <= absl::Seconds(tolerance);
  }
  template <typename T>
  bool operator()(const T& want, const T& got) const {
    return want == got;
  }
  template <typename T, typename U>
  bool operator()(const T&, const U&) const {
    return false;
  }
};

struct Formatter {
  std::string operator()(const std::string& item) const { return item; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const {
    return absl::StrFormat("%.6f", value);
  }
  std::string operator()(absl::Duration value) const {
    return absl::FormatDuration(value);
  }
};

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  constexpr absl::Duration kMin =
      absl::Nanoseconds(std::numeric_limits<int64_t>::min());
  constexpr absl::Duration kMax =
      absl::Nanoseconds(std::numeric_limits<int64_t>::max());
  // Abseil parses the digits without the sign, and these do not fit.
  if (text == "-9223372036854775808ns") return kMin;
  // Go also writes microseconds with either of two Greek letters.
  const std::string ascii =
      absl::StrReplaceAll(text, {{"\u00b5s", "us"}, {"\u03bcs", "us"}});
  absl::Duration duration;
  if (!absl::ParseDuration(ascii, &duration) || duration < kMin ||
      duration > kMax) {
    return NotA("a duration", text);
  }
  return absl::Trunc(duration, absl::Nanoseconds(1));
}

absl::StatusOr<Value> ParseValue(Type type, absl::string_view text) {
  int64_t integer;
  double decimal;
  switch (type) {
    case Type::kItem:
      return Value(std::string(text));
    case Type::kBoolean:
      if (text == "true" || text == "false") return Value(text == "true");
      return NotA("true or false", text);
    case Type::kInteger:
      if (absl::SimpleAtoi(text, &integer)) return Value(integer);
      return NotA("an integer", text);
    case Type::kDecimal:
      if (absl::SimpleAtod(text, &decimal) && std::isfinite(decimal)) {
        return Value(decimal);
      }
      return NotA("a number", text);
    case Type::kDuration: {
      const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
      if (!duration.ok()) return duration.status();
      return Value(*duration);
    }
    case Type::kNone:
      break;
  }
  return NotA("expected", text);
}

bool Agree(const Result& want, const Result& got, double tolerance) {
  if (want.size() != got.size()) return false;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!std::visit(Agreement{tolerance}, want[i], got[i])) return false;
  }
  return true;
}

std::string Format(const Result& result) {
  return absl::StrJoin(result, " ", [](std::string* out, const Value& value) {
    out->append(std::visit(Formatter(), value));
  });
}

std::string Quote(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), "\"");
}

}  // namespace conformance
