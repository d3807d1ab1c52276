// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/page.h"
#include "workqueue/inspect/internal/page_writer.h"

namespace workqueue::internal {
namespace {

using Kind = PagePiece::Kind;

// A cell that is wider sticks out of its column, so that a long key does not
// move everything else out of the terminal.
constexpr size_t kMaxWidth = 60;

// The number of characters, which is the width of most texts.
size_t WidthOf(absl::string_view utf8) {
  return static_cast<size_t>(std::count_if(
      utf8.begin(), utf8.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string TextOf(const PageCell& cell) {
  std::string text;
  absl::string_view separator = "";
  for (const PagePiece& piece : cell.pieces) {
    const std::string part = TerminalText(
        piece.kind == Kind::kKey ? DisplayedKey(piece.text) : piece.text);
    if (part.empty()) continue;
    absl::StrAppend(&text, separator, part);
    const bool is_note =
        piece.kind == Kind::kNote || piece.kind == Kind::kBadNote;
    separator = is_note ? ", " : " ";
  }
  return text;
}

class TextWriter final : public PageWriter {
 public:
  void Title(const NamedInspection& object) override {
    absl::StrAppend(&text_, TerminalText(object.name), " (",
                    TerminalText(object.kind), ")\n");
  }

  void Heading(absl::string_view heading, absl::string_view count) override {
    Separate();
    absl::StrAppend(&text_, TerminalText(heading), count.empty() ? "" : " (",
                    count, count.empty() ? ":\n" : "):\n");
    after_heading_ = true;
  }

  void KeyHeading(absl::string_view key) override {
    Heading(DisplayedKey(key), "");
  }

  void Paragraph(const PagePiece& piece) override {
    // A dim one belongs to the table above.
    if (piece.kind != Kind::kDim) Separate();
    absl::StrAppend(&text_, piece.kind == Kind::kDim ? "  " : "",
                    TerminalText(piece.text), "\n");
  }

  void Table(const PageTable& table) override {
    if (!table.rows.empty()) Lines(table);
  }

  void List(absl::string_view /*kind*/,
            const std::vector<PageRow>& sentences) override {
    PageTable table;
    table.columns.resize(sentences.front().size());
    table.rows = sentences;
    Lines(table);
  }

  void Values(const std::vector<PageRow>& values) override { List("", values); }

  std::string Finish(absl::string_view /*title*/) override {
    return std::move(text_);
  }

 private:
  // Writes an empty line between two parts, but none below a heading.
  void Separate() {
    if (!text_.empty() && !after_heading_) text_ += "\n";
    after_heading_ = false;
  }

  // Writes the headings, unless all are empty, and the rows. The notes of a
  // column have a column of their own. A column without text is left out.
  void Lines(const PageTable& table) {
    Separate();
    std::vector<std::vector<std::string>> lines(1);
    bool has_headings = false;
    for (const PageTable::Column& column : table.columns) {
      has_headings = has_headings || !column.heading.empty();
      lines[0].push_back(absl::AsciiStrToUpper(column.heading));
      lines[0].emplace_back();
    }
    if (!has_headings) lines.clear();
    const size_t all = 2 * table.columns.size();
    for (const PageRow& row : table.rows) {
      lines.emplace_back();
      for (const PageCell& cell : row) {
        lines.back().push_back(TextOf(cell));
        lines.back().push_back(TerminalText(cell.note));
      }
    }

    std::vector<size_t> widths(all);
    std::vector<bool> has_text(all);
    for (const std::vector<std::string>& line : lines) {
      const bool is_heading = has_headings && &line == &lines[0];
      // The last cell of a short row has no column of its own.
      const size_t end = line.size() < all ? line.size() - 2 : all;
      for (size_t i = 0; i < end; ++i) {
        if (!is_heading && !line[i].empty()) has_text[i] = true;
        widths[i] = std::max(widths[i], std::min(WidthOf(line[i]), kMaxWidth));
      }
    }
    for (const std::vector<std::string>& line : lines) {
      std::string padded;
      for (size_t i = 0; i < line.size(); ++i) {
        const bool takes_rest = line.size() < all && i + 2 >= line.size();
        if (!takes_rest && !has_text[i]) continue;
        const size_t width = WidthOf(line[i]);
        const std::string padding(
            takes_rest || width > widths[i] ? 0 : widths[i] - width, ' ');
        const bool right = i % 2 == 0 && table.columns[i / 2].is_number;
        absl::StrAppend(&padded, "  ", right ? padding : "", line[i],
                        right ? "" : padding);
      }
      absl::StrAppend(&text_, absl::StripTrailingAsciiWhitespace(padded), "\n");
    }
  }

  std::string text_;
  bool after_heading_ = false;
};

}  // namespace

std::unique_ptr<PageWriter> NewTextWriter() {
  return std::make_unique<TextWriter>();
}

std::string TerminalText(absl::string_view text) {
  return absl::StrJoin(
      absl::StrSplit(text, '\\'), "\\",
      [](std::string* out, absl::string_view part) {
        absl::StrAppend(out,
                        Printable(part, std::numeric_limits<size_t>::max()));
      });
}

}  // namespace workqueue::internal
