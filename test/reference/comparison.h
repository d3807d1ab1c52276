// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_COMPARISON_H_
#define WORKQUEUE_TEST_REFERENCE_COMPARISON_H_

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace reference {

// ToText()
//
// Returns a value as readable text. Times are relative to the epoch, at which a
// `FakeClock` starts.
inline std::string ToText(bool value) { return value ? "true" : "false"; }
inline std::string ToText(const std::string& value) { return value; }
inline std::string ToText(absl::Duration value) {
  return absl::FormatDuration(value);
}
inline std::string ToText(absl::Time value) {
  return ToText(value - absl::UnixEpoch());
}
inline std::string ToText(absl::StatusCode value) {
  return absl::StatusCodeToString(value);
}
template <typename T>
std::string ToText(const T& number) {
  return absl::StrCat(number);
}
template <typename T>
std::string ToText(const std::optional<T>& value);
template <typename T>
std::string ToText(const absl::StatusOr<T>& value);
template <typename T>
std::string ToText(const std::vector<T>& values);
template <typename... T>
std::string ToText(const std::tuple<T...>& values);

// Comparison
//
// This class compares a subject with its model at each step. On request it also
// keeps a log of the operations.
class Comparison {
 public:
  // Appends a line to `*log` for each operation, unless `log` is null.
  explicit Comparison(std::string* log) : log_(log) {}

  // Records the operation `name(args...)`, which returns nothing.
  template <typename... Args>
  void Did(absl::string_view name, const Args&... args) {
    if (log_ != nullptr) absl::StrAppend(log_, Call(name, args...), "\n");
  }

  // Records the operation `name(args...)`, which returned `got`. The model
  // returned `expected`.
  template <typename T, typename... Args>
  void Returned(const T& got, const T& expected, absl::string_view name,
                const Args&... args) {
    if (log_ != nullptr) {
      absl::StrAppend(log_, Call(name, args...), " -> ", ToText(got), "\n");
    }
    if (got == expected || !agrees()) return;
    disagreement_ = absl::StrCat(Call(name, args...), " returned ", ToText(got),
                                 ", and not ", ToText(expected));
  }

  // Compares the observed state that `what` describes.
  template <typename T>
  void Same(absl::string_view what, const T& got, const T& expected) {
    if (got == expected || !agrees()) return;
    disagreement_ =
        absl::StrCat(what, " is ", ToText(got), ", and not ", ToText(expected));
  }

  // Checks that the property that `what` describes holds.
  void Holds(bool holds, absl::string_view what) {
    if (!holds && agrees()) disagreement_ = absl::StrCat("not so: ", what);
  }

  bool agrees() const { return disagreement_.empty(); }

  // Returns the first disagreement, or an empty string if there is none.
  const std::string& disagreement() const { return disagreement_; }

 private:
  template <typename... Args>
  static std::string Call(absl::string_view name, const Args&... args) {
    const std::vector<std::string> texts = {ToText(args)...};
    return absl::StrCat(name, "(", absl::StrJoin(texts, ", "), ")");
  }

  std::string* const log_;
  std::string disagreement_;
};

// Implementation details follow.

template <typename T>
std::string ToText(const std::optional<T>& value) {
  return value.has_value() ? ToText(*value) : "nothing";
}

template <typename T>
std::string ToText(const absl::StatusOr<T>& value) {
  return value.ok() ? ToText(*value) : ToText(value.status().code());
}

template <typename T>
std::string ToText(const std::vector<T>& values) {
  return absl::StrCat("[",
                      absl::StrJoin(values, ", ",
                                    [](std::string* out, const T& value) {
                                      out->append(ToText(value));
                                    }),
                      "]");
}

template <typename... T>
std::string ToText(const std::tuple<T...>& values) {
  return std::apply(
      [](const T&... value) {
        const std::vector<std::string> texts = {ToText(value)...};
        return absl::StrCat("(", absl::StrJoin(texts, ", "), ")");
      },
      values);
}

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_COMPARISON_H_
