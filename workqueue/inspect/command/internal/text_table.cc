// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/text_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {
namespace {

// The number of characters, which is the width of most texts.
size_t WidthOf(absl::string_view utf8) {
  return static_cast<size_t>(std::count_if(
      utf8.begin(), utf8.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string TerminalText(absl::string_view text) {
  return absl::StrJoin(
      absl::StrSplit(text, '\\'), "\\",
      [](std::string* out, absl::string_view part) {
        absl::StrAppend(out,
                        Printable(part, std::numeric_limits<size_t>::max()));
      });
}

std::string TextTable::Text(absl::string_view indent) const {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  if (!std::all_of(headings.begin(), headings.end(),
                   [](const std::string& it) { return it.empty(); })) {
    lines.push_back(std::move(headings));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<size_t> widths(columns_.size());
  for (std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      line[i] = TerminalText(line[i]);
      widths[i] = std::max(widths[i], WidthOf(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string padded(indent);
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string padding(widths[i] - WidthOf(line[i]), ' ');
      absl::StrAppend(&padded, padded.size() == indent.size() ? "" : "  ",
                      columns_[i].right ? padding : "", line[i],
                      columns_[i].right ? "" : padding);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(padded), "\n");
  }
  return text;
}

}  // namespace internal
}  // namespace workqueue
