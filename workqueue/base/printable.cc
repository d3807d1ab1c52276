// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {
namespace {

// Returns the length of the UTF-8 character at the start of `text`, or 0 if
// there is none. `text` must not be empty. Stores the character's code point.
size_t DecodeUtf8(absl::string_view text, uint32_t& code_point) {
  // The smallest code point of each length. A smaller one is not valid UTF-8.
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC0 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF8 ? 4
                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  code_point = length == 1 ? first : first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (next & 0x3F);
  }
  const bool surrogate = 0xD800 <= code_point && code_point <= 0xDFFF;
  const bool valid =
      kSmallest[length] <= code_point && !surrogate && code_point <= 0x10FFFF;
  return valid ? length : 0;
}

// Returns whether Printable() must escape the character.
bool NeedsEscape(uint32_t code_point) {
  const auto within = [code_point](uint32_t first, uint32_t last) {
    return first <= code_point && code_point <= last;
  };
  return code_point == '\\' || within(0, 0x1F) || within(0x7F, 0x9F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

}  // namespace

std::string Printable(absl::string_view text, size_t max_bytes) {
  std::string printable;
  size_t length = 0;
  for (size_t i = 0; i < text.size(); i += length) {
    uint32_t code_point = 0;
    length = DecodeUtf8(text.substr(i), code_point);
    const bool keep = length > 0 && !NeedsEscape(code_point);
    if (length == 0) length = 1;
    if (i + length > max_bytes) {
      absl::StrAppend(&printable, "... (", text.size(), " bytes)");
      break;
    }
    const absl::string_view character = text.substr(i, length);
    if (keep) {
      absl::StrAppend(&printable, character);
    } else {
      absl::StrAppend(&printable, absl::CEscape(character));
    }
  }
  return printable;
}

bool HasControls(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

std::string ToUtf8(absl::string_view text) {
  std::string utf8;
  while (!text.empty()) {
    uint32_t code_point = 0;
    const size_t length = DecodeUtf8(text, code_point);
    absl::StrAppend(&utf8, length > 0 ? text.substr(0, length) : "\uFFFD");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return utf8;
}

std::string ToText(absl::string_view text) {
  std::string result;
  for (const char c : ToUtf8(text)) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      result += "\uFFFD";
    } else {
      result += c;
    }
  }
  return result;
}

std::string StatusText(const absl::Status& status) {
  std::vector<std::string> marks;
  status.ForEachPayload([&marks](absl::string_view url, const absl::Cord&) {
    if (absl::StartsWith(url, "workqueue/")) marks.emplace_back(url);
  });
  if (marks.empty()) return status.ToString();
  absl::Status unmarked = status;
  for (const std::string& mark : marks) unmarked.ErasePayload(mark);
  return unmarked.ToString();
}

}  // namespace workqueue::internal
