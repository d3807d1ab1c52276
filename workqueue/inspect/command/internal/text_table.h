// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/text_table.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_TEXT_TABLE_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_TEXT_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

// Returns `text` on one line, in characters that a terminal displays and does
// not act on. Leaves backslashes as they are, because the server has escaped
// its texts already, and a key must stay a key.
std::string TerminalText(absl::string_view text);

// TextTable
//
// Lines of columns. Each column is as wide as its widest cell, and a column
// without text is left out.
class TextTable {
 public:
  struct Column {
    std::string heading;
    bool right = false;  // aligns at the right
  };

  explicit TextTable(std::vector<Column> columns)
      : columns_(std::move(columns)) {}

  // Adds a row, which has a cell for each column.
  void Add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
  }

  bool empty() const { return rows_.empty(); }

  // Returns the lines. Each begins with `indent`, and none ends with spaces.
  // The first has the headings, unless all are empty. Passes all cells through
  // `TerminalText()`.
  std::string Text(absl::string_view indent) const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_TEXT_TABLE_H_
