// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/html.h"
#include "workqueue/inspect/internal/page.h"
#include "workqueue/inspect/internal/page_writer.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue::internal {
namespace {

using Kind = PagePiece::Kind;

// The style sheet of all pages, for light and dark screens.
constexpr char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --text: #1d2733; --dim: #5c6b7a; --line: #d9dfe5; --back: #ffffff;
  --panel: #f4f6f8; --link: #0b57c2; --good: #19713a; --bad: #b3261e;
  --queued: #0b57c2; --waiting: #8a98a6; --failing: #c2410c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e3e8ee; --dim: #98a5b3; --line: #333d48; --back: #14191f;
    --panel: #1d242c; --link: #7fb2ff; --good: #66cc8a; --bad: #ff8f85;
    --queued: #7fb2ff; --waiting: #6b7886; --failing: #ff9b5e;
  }
}
body {
  margin: 0 auto; padding: 0 1rem 3rem; max-width: 75rem;
  font: 15px/1.45 system-ui, sans-serif;
  color: var(--text); background: var(--back);
}
header { padding: .8rem 0; border-bottom: 1px solid var(--line); }
header a { font-weight: 600; }
#refresh { float: right; color: var(--dim); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { font-size: 1.5rem; margin: 1rem 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.kind, .count { color: var(--dim); font-size: .85rem; font-weight: 400; }
.key { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td {
  text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
}
th {
  color: var(--dim); font-weight: 500; font-size: .85rem; white-space: nowrap;
}
.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.note { background: var(--panel); border-radius: 3px; padding: 0 .3rem; }
.findings, .state { padding: .6rem 1rem .6rem 2rem; background: var(--panel); }
.findings { border-left: 4px solid var(--bad); }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
dt { color: var(--dim); font-size: .85rem; }
dd { margin: 0; }
.actions { display: flex; gap: .5rem; margin: .5rem 0; }
.plot { width: 160px; height: 38px; overflow: visible; }
.plot polyline, .legend line {
  fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke;
}
.queued { stroke: var(--queued); }
.waiting { stroke: var(--waiting); }
.failing { stroke: var(--failing); }
)css";

// The script of all pages. It loads the page again every two seconds, and
// replaces the content, unless the user is writing into a form. A process that
// is stopped accepts connections, and does not answer.
constexpr char kScript[] = R"js(
'use strict';
const note = document.getElementById('refresh');
let last = new Date().toLocaleTimeString();
let asking = false;
async function refresh() {
  const main = document.querySelector('main');
  const active = document.activeElement;
  if (document.hidden || active.matches('main input')) {
    note.textContent = 'paused';
    return;
  }
  if (asking) return;
  asking = true;
  try {
    // A request that does not accept HTML gets text.
    const response = await fetch(
        location.href, {cache: 'no-store', headers: {Accept: 'text/html'},
                        signal: AbortSignal.timeout(5000)});
    const text = await response.text();
    // Only the content: the policy forbids the style of another response.
    const content = text.slice(text.indexOf('<main>'),
                               text.indexOf('</main>'));
    const page = new DOMParser().parseFromString(content, 'text/html');
    const fresh = page.querySelector('main');
    if (!fresh) throw new Error('another page');
    if (document.activeElement.matches('main input')) return;
    main.replaceWith(fresh);
    last = new Date().toLocaleTimeString();
    note.textContent = 'updated ' + last;
  } catch (error) {
    note.textContent = 'no answer since ' + last;
  } finally {
    asking = false;
  }
}
setInterval(refresh, 2000);
note.textContent = 'refreshes every 2 s';
)js";

// The size of the plot, in units of SVG.
constexpr double kWidth = 160;
constexpr double kHeight = 36;

// Adds a line of the class `name` with the numbers that are the `member` of the
// samples. The line is broken where they are unknown.
template <typename Member>
void AddLine(absl::string_view name, Member member,
             const std::vector<DepthSample>& samples, size_t max, Html* html) {
  const absl::Time begin = samples.front().time;
  const absl::Duration length =
      std::max(samples.back().time - begin, absl::Nanoseconds(1));
  bool drawing = false;
  for (const DepthSample& sample : samples) {
    const std::optional<size_t> number = sample.*member;
    if (drawing && (sample.after_gap || !number.has_value())) {
      html->Markup("\"/>");
      drawing = false;
    }
    if (!number.has_value()) continue;
    if (!drawing) {
      html->Markup("<polyline class=\"").Text(name).Markup("\" points=\"");
      drawing = true;
    }
    const double x = kWidth * absl::FDivDuration(sample.time - begin, length);
    const double y = kHeight - kHeight * static_cast<double>(*number) / max;
    html->Number(x).Markup(",").Number(y).Markup(" ");
  }
  if (drawing) html->Markup("\"/>");
}

// Returns a small plot, in SVG, of the numbers of queued, waiting and failing
// items over the time of `samples`. Its text alternative tells the last and the
// largest number of queued items.
Html DepthPlot(const std::vector<DepthSample>& samples) {
  Html html;
  if (samples.empty()) return html;
  size_t max = 1;
  size_t max_queued = 0;
  for (const DepthSample& sample : samples) {
    max_queued = std::max(max_queued, sample.queued);
    max = std::max(
        {max, sample.queued, sample.waiting, sample.failing.value_or(0)});
  }
  html.Markup("<svg class=\"plot\" viewBox=\"0 -1 160 38\" role=\"img\">");
  html.Markup("<title>");
  html.Text(absl::StrCat(
      "The last ", ReadableDuration(samples.back().time - samples.front().time),
      ": ", ReadableNumber(samples.back().queued), " queued now, at most ",
      ReadableNumber(max_queued), "; ", ReadableNumber(samples.back().waiting),
      " waiting now; the plot ends at ", ReadableNumber(max)));
  html.Markup("</title>");
  AddLine("waiting", &DepthSample::waiting, samples, max, &html);
  AddLine("failing", &DepthSample::failing, samples, max, &html);
  AddLine("queued", &DepthSample::queued, samples, max, &html);
  html.Markup("</svg>");
  return html;
}

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
    page.Text(options_.nonce).Markup("\">").Markup(kStyle);
    page.Markup(
        "</style>\n</head>\n<body>\n"
        "<header><a href=\"?\">Work queues</a> <span id=\"refresh\"></span>"
        "</header>\n<main>\n");
    page.Append(html_).Markup("</main>\n<script nonce=\"");
    page.Text(options_.nonce).Markup("\">").Markup(kScript);
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

  void AddAction(const NamedInspection& object, absl::string_view key,
                 absl::string_view action, absl::string_view label) {
    html_.Markup("<form method=\"post\"><input type=\"hidden\" name=\"token\"");
    html_.Markup(" value=\"").Text(options_.token);
    html_.Markup("\"><input type=\"hidden\" name=\"name\" value=\"");
    html_.Text(object.name);
    html_.Markup("\"><input type=\"hidden\" name=\"key\" value=\"").Text(key);
    html_.Markup("\"><button name=\"action\" value=\"").Text(action);
    html_.Markup("\">").Text(label).Markup("</button></form>\n");
  }

  const PageOptions options_;
  Html html_;
};

}  // namespace

std::unique_ptr<PageWriter> NewHtmlWriter(const PageOptions& options) {
  return std::make_unique<HtmlWriter>(options);
}

}  // namespace workqueue::internal
