// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/label_selector.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "examples/kubernetes/objects.h"

namespace kubernetes {
namespace {

// Reads a selector from left to right.
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text), rest_(text) {
    SkipBlanks();
  }

  bool AtEnd() const { return rest_.empty(); }

  // Skips `token`, and returns true, if it comes next.
  bool Skip(absl::string_view token) {
    if (!absl::ConsumePrefix(&rest_, token)) return false;
    SkipBlanks();
    return true;
  }

  // Reads the characters of a key or of a value. There may be none.
  std::string Word() {
    const auto end = absl::c_find_if_not(rest_, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
             c == '_' || c == '.' || c == '/';
    });
    const absl::string_view word = rest_.substr(0, end - rest_.begin());
    rest_.remove_prefix(word.size());
    SkipBlanks();
    return std::string(word);
  }

  absl::Status Expected(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the selector '", text_, "' has no ", what,
                     " at character ", text_.size() - rest_.size() + 1));
  }

 private:
  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  const absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<LabelSelector> LabelSelector::Parse(absl::string_view text) {
  LabelSelector selector;
  Scanner scanner(text);
  if (scanner.AtEnd()) return selector;
  do {
    Requirement it;
    it.negated = scanner.Skip("!");
    it.any_value = it.negated;
    it.key = scanner.Word();
    if (it.key.empty()) return scanner.Expected("key");
    const Scanner at_operator = scanner;
    if (it.negated) {
      // There is no more.
    } else if (scanner.Skip("==") || scanner.Skip("=")) {
      it.values.insert(scanner.Word());
    } else if (scanner.Skip("!=")) {
      it.negated = true;
      it.values.insert(scanner.Word());
    } else if (const std::string op = scanner.Word(); !op.empty()) {
      if (op != "in" && op != "notin") {
        return at_operator.Expected("operator");
      }
      it.negated = op == "notin";
      if (!scanner.Skip("(")) return scanner.Expected("(");
      do {
        it.values.insert(scanner.Word());
      } while (scanner.Skip(","));
      if (!scanner.Skip(")")) return scanner.Expected(")");
    } else {
      it.any_value = true;
    }
    selector.requirements_.push_back(std::move(it));
  } while (scanner.Skip(","));
  if (!scanner.AtEnd()) return scanner.Expected("comma");
  return selector;
}

bool LabelSelector::Matches(const StringMap& labels) const {
  return absl::c_all_of(requirements_, [&labels](const Requirement& it) {
    const std::string* const value = Find(labels, it.key);
    const bool found =
        value != nullptr && (it.any_value || it.values.contains(*value));
    return found != it.negated;
  });
}

}  // namespace kubernetes
