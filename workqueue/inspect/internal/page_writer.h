// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_PAGE_WRITER_H_
#define WORKQUEUE_INSPECT_INTERNAL_PAGE_WRITER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/page.h"

namespace workqueue::internal {

// A piece of text on a page.
struct PagePiece {
  enum class Kind {
    kPlain,
    kDim,
    kGood,
    kBad,
    kNote,
    kBadNote,
    kNumber,  // HTML shows "0" as a dash, so that zeros do not distract.
    kObject,  // the name of an object, with a link to it
    kKey,     // the key of an item of `object`, with a link to it
  };

  std::string text;  // may contain anything
  Kind kind = Kind::kPlain;
  std::string object = {};
};

// The pieces of a cell of a table, with spaces between them, and what else to
// show.
struct PageCell {
  std::vector<PagePiece> pieces;
  std::string note = {};  // dim, after or below the pieces

  // Only HTML shows these: a plot of the samples, and a bar.
  const std::vector<DepthSample>* samples = nullptr;
  std::optional<size_t> percent = std::nullopt;
};

using PageRow = std::vector<PageCell>;

struct PageTable {
  struct Column {
    std::string heading;
    bool is_number = false;
  };

  std::vector<Column> columns;
  bool notes_below = false;  // in HTML

  // The last cell of a row with fewer cells than columns takes the rest.
  std::vector<PageRow> rows = {};
};

// Returns the text of the key of an item.
inline absl::string_view DisplayedKey(absl::string_view key) {
  return key.empty() ? "(empty)" : key;
}

// PageWriter
//
// Writes the content of a page, from top to bottom, in one of its forms.
class PageWriter {
 public:
  virtual ~PageWriter() = default;

  virtual void Title(const NamedInspection& object) = 0;
  virtual void Heading(absl::string_view heading, absl::string_view count) = 0;
  virtual void KeyHeading(absl::string_view key) = 0;
  virtual void Paragraph(const PagePiece& piece) = 0;

  // Writes nothing if there are no rows.
  virtual void Table(const PageTable& table) = 0;

  // Writes a list of sentences, which is not empty. `kind` is the class of the
  // list in HTML.
  virtual void List(absl::string_view kind,
                    const std::vector<PageRow>& sentences) = 0;

  // Writes names and their values.
  virtual void Values(const std::vector<PageRow>& values) = 0;

  // Only a browser shows these.
  virtual void Plot(const std::vector<DepthSample>& /*samples*/) {}
  virtual void Legend() {}
  virtual void SearchForm(const NamedInspection& /*object*/,
                          absl::string_view /*key*/) {}
  virtual void Actions(const NamedInspection& /*object*/,
                       absl::string_view /*key*/) {}

  // Returns the page. Called last, and once.
  virtual std::string Finish(absl::string_view title) = 0;
};

// The writer of HTML.
std::unique_ptr<PageWriter> NewHtmlWriter(const PageOptions& options);

// The writer of text for a terminal, in aligned columns. All texts pass through
// `TerminalText()`.
std::unique_ptr<PageWriter> NewTextWriter();

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_PAGE_WRITER_H_
