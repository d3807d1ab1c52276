// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/depth_plot.h"
#include "workqueue/inspect/internal/html.h"
#include "workqueue/inspect/internal/page.h"
#include "workqueue/inspect/internal/page_style.h"
#include "workqueue/inspect/internal/page_writer.h"

namespace workqueue {
namespace internal {
namespace {

using Kind = PagePiece::Kind;

class HtmlWriter final : public PageWriter {
 public:
  explicit HtmlWriter(PageOptions options) : options_(std::move(options)) {}

  void Title(const NamedInspection& object) override {
    html_.Markup("<h1>").Append(ToHtml({object.name, Kind::kObject}));
    html_.Markup(" <span class=\"kind\">").Text(object.kind);
    html_.Markup("</span></h1>\n");
  }

  void Heading(absl::string_view heading, absl::string_view count) override {
    html_.Markup("<h2>").Text(heading);
    if (!count.empty()) {
      html_.Markup(" <span class=\"count\">").Text(count).Markup("</span>");
    }
    html_.Markup("</h2>\n");
  }

  void KeyHeading(absl::string_view key) override {
    html_.Markup("<h2 class=\"key\">").Text(DisplayedKey(key));
    html_.Markup("</h2>\n");
  }

  void Paragraph(const PagePiece& piece) override {
    html_.Markup("<p>").Append(ToHtml(piece)).Markup("</p>\n");
  }

  void Table(const PageTable& table) override {
    if (table.rows.empty()) return;
    html_.Markup("<table><thead><tr>");
    for (const PageTable::Column& column : table.columns) {
      html_.Markup("<th>").Text(column.heading).Markup("</th>");
    }
    html_.Markup("</tr></thead>\n<tbody>\n");
    for (const PageRow& row : table.rows) {
      html_.Markup("<tr>");
      for (size_t i = 0; i < row.size(); ++i) {
        const size_t rest = table.columns.size() - i;
        if (i + 1 == row.size() && rest > 1) {
          html_.Markup("<td colspan=\"").Number(rest).Markup("\">");
        } else if (table.columns[i].is_number) {
          html_.Markup("<td class=\"number\">");
        } else {
          html_.Markup("<td>");
        }
        html_.Append(ToHtml(row[i], table.notes_below)).Markup("</td>");
      }
      html_.Markup("</tr>\n");
    }
    html_.Markup("</tbody></table>\n");
  }

  void List(absl::string_view kind,
            const std::vector<PageRow>& sentences) override {
    html_.Markup("<ul class=\"").Text(kind).Markup("\">\n");
    for (const PageRow& row : sentences) {
      html_.Markup("<li>");
      for (const PageCell& cell : row) {
        html_.Append(ToHtml(cell, /*note_below=*/false)).Markup(" ");
      }
      html_.Markup("</li>\n");
    }
    html_.Markup("</ul>\n");
  }

  void Values(const std::vector<PageRow>& values) override {
    html_.Markup("<dl>\n");
    for (const PageRow& row : values) {
      html_.Markup("<div><dt>").Append(ToHtml(row[0], false));
      html_.Markup("</dt><dd>").Append(ToHtml(row[1], false));
      html_.Markup("</dd></div>\n");
    }
    html_.Markup("</dl>\n");
  }

  void Plot(const std::vector<DepthSample>& samples) override {
    html_.Markup("<p>").Append(DepthPlot(samples)).Markup("</p>\n");
  }

  void Legend() override {
    html_.Markup(
        "<p class=\"kind legend\">Lines: "
        "<svg width=\"16\" height=\"8\"><line class=\"queued\" x2=\"16\" "
        "y1=\"4\" y2=\"4\"/></svg> queued, "
        "<svg width=\"16\" height=\"8\"><line class=\"waiting\" x2=\"16\" "
        "y1=\"4\" y2=\"4\"/></svg> waiting, "
        "<svg width=\"16\" height=\"8\"><line class=\"failing\" x2=\"16\" "
        "y1=\"4\" y2=\"4\"/></svg> failing</p>\n");
  }

  void SearchForm(const NamedInspection& object,
                  absl::string_view key) override {
    html_.Markup("<form><input type=\"hidden\" name=\"name\" value=\"");
    html_.Text(object.name);
    html_.Markup("\"><label>Find a key: <input name=\"key\" value=\"");
    html_.Text(key);
    html_.Markup("\" size=\"40\"></label> <button>Find</button></form>\n");
  }

  void Actions(const NamedInspection& object, absl::string_view key) override {
    if (options_.token.empty()) return;
    html_.Markup("<div class=\"actions\">\n");
    AddAction(object, key, "requeue", "Requeue now");
    AddAction(object, key, "forget", "Forget failures");
    AddAction(object, key, "cancel", "Cancel waiting");
    html_.Markup("</div>\n");
  }

  std::string Finish(absl::string_view title) override {
    Html page;
    page.Markup(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>");
    page.Text(title).Markup("</title>\n<style nonce=\"");
    page.Text(options_.nonce).Markup("\">").Append(PageStyle());
    page.Markup(
        "</style>\n</head>\n<body>\n"
        "<header><a href=\"?\">Work queues</a> <span id=\"refresh\"></span>"
        "</header>\n<main>\n");
    page.Append(html_).Markup("</main>\n<script nonce=\"");
    page.Text(options_.nonce).Markup("\">").Append(PageScript());
    page.Markup("</script>\n</body>\n</html>\n");
    return std::move(page).Take();
  }

 private:
  static Html ToHtml(const PagePiece& piece) {
    Html html;
    switch (piece.kind) {
      case Kind::kPlain:
        return std::move(html.Text(piece.text));
      case Kind::kNumber:
        return std::move(html.Text(piece.text == "0" ? "–" : piece.text));
      case Kind::kObject:
        html.Markup("<a href=\"?name=").Parameter(piece.text).Markup("\">");
        return std::move(html.Text(piece.text).Markup("</a>"));
      case Kind::kKey:
        html.Markup("<a class=\"key\" href=\"?name=").Parameter(piece.object);
        html.Markup("&amp;key=").Parameter(piece.text).Markup("\">");
        return std::move(html.Text(DisplayedKey(piece.text)).Markup("</a>"));
      case Kind::kDim:
        html.Markup("<span class=\"kind\">");
        break;
      case Kind::kGood:
        html.Markup("<span class=\"good\">");
        break;
      case Kind::kBad:
        html.Markup("<span class=\"bad\">");
        break;
      case Kind::kNote:
        html.Markup("<span class=\"note\">");
        break;
      case Kind::kBadNote:
        html.Markup("<span class=\"note bad\">");
        break;
    }
    return std::move(html.Text(piece.text).Markup("</span>"));
  }

  static Html ToHtml(const PageCell& cell, bool note_below) {
    Html html;
    if (cell.samples != nullptr) html.Append(DepthPlot(*cell.samples));
    if (cell.percent.has_value()) {
      html.Markup("<meter min=\"0\" max=\"100\" value=\"");
      html.Number(*cell.percent).Markup("\"></meter> ");
    }
    for (const PagePiece& piece : cell.pieces) {
      if (&piece != &cell.pieces[0]) html.Markup(" ");
      html.Append(ToHtml(piece));
    }
    if (cell.note.empty()) return html;
    if (note_below) {
      html.Markup("<br>");
    } else {
      html.Markup(" ");
    }
    return std::move(html.Append(ToHtml({cell.note, Kind::kDim})));
  }

  template <size_t N>
  void AddAction(const NamedInspection& object, absl::string_view key,
                 const char (&action)[N], absl::string_view label) {
    html_.Markup("<form method=\"post\"><input type=\"hidden\" name=\"token\"");
    html_.Markup(" value=\"").Text(options_.token);
    html_.Markup("\"><input type=\"hidden\" name=\"name\" value=\"");
    html_.Text(object.name);
    html_.Markup("\"><input type=\"hidden\" name=\"key\" value=\"").Text(key);
    html_.Markup("\"><button name=\"action\" value=\"").Markup(action);
    html_.Markup("\">").Text(label).Markup("</button></form>\n");
  }

  const PageOptions options_;
  Html html_;
};

}  // namespace

std::unique_ptr<PageWriter> NewHtmlWriter(const PageOptions& options) {
  return std::make_unique<HtmlWriter>(options);
}

}  // namespace internal
}  // namespace workqueue
