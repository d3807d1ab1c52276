// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/page.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/depth_plot.h"
#include "workqueue/inspect/internal/findings.h"
#include "workqueue/inspect/internal/html.h"
#include "workqueue/inspect/internal/page_style.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue {
namespace internal {
namespace {

Html LinkToObject(absl::string_view name) {
  Html html;
  html.Markup("<a href=\"?name=").Parameter(name).Markup("\">");
  html.Text(name).Markup("</a>");
  return html;
}

Html LinkToKey(absl::string_view name, absl::string_view key) {
  Html html;
  html.Markup("<a class=\"key\" href=\"?name=").Parameter(name);
  html.Markup("&amp;key=").Parameter(key).Markup("\">");
  html.Text(key.empty() ? "(empty)" : key).Markup("</a>");
  return html;
}

// The time since or until `time`, and the time itself.
Html Age(absl::Duration age, absl::Time time, absl::Time now) {
  Html html;
  html.Text(ReadableDuration(age));
  html.Markup(" <span class=\"kind\">").Text(ReadableTime(time, now));
  html.Markup("</span>");
  return html;
}

// Says how many items a list has left out.
Html Others(size_t shown, size_t all) {
  Html html;
  if (shown < all) {
    html.Markup("<p class=\"kind\">and ").Text(ReadableNumber(all - shown));
    html.Markup(" more</p>\n");
  }
  return html;
}

// A number, or a dash for zero, so that zeros do not distract.
Html Quantity(size_t n) {
  Html html;
  html.Text(n == 0 ? "–" : ReadableNumber(n));
  return html;
}

// The notes on an item: priority, failures, the last error.
Html Notes(const InspectedItem& item) {
  Html html;
  if (item.priority != 0) {
    html.Markup("<span class=\"note\">priority ").Number(item.priority);
    html.Markup("</span> ");
  }
  if (item.added_again) {
    html.Markup("<span class=\"note\">added again</span> ");
  }
  if (item.failures != 0) {
    html.Markup("<span class=\"note bad\">");
    html.Text(ReadableCount(item.failures, "failure")).Markup("</span> ");
  }
  html.Text(item.last_error);
  return html;
}

// A page with the content `main`.
std::string Page(absl::string_view title, const Html& main,
                 const PageOptions& options) {
  Html html;
  html.Markup(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>");
  html.Text(title).Markup("</title>\n<style nonce=\"");
  html.Text(options.nonce).Markup("\">").Append(PageStyle());
  html.Markup(
      "</style>\n</head>\n<body>\n"
      "<header><a href=\"?\">Work queues</a> <span id=\"refresh\"></span>"
      "</header>\n<main>\n");
  html.Append(main).Markup("</main>\n<script nonce=\"");
  html.Text(options.nonce).Markup("\">").Append(PageScript());
  html.Markup("</script>\n</body>\n</html>\n");
  return std::move(html).Take();
}

// The findings of all objects, as a list.
Html FindingList(const std::vector<NamedInspection>& objects,
                 bool names_objects) {
  Html list;
  bool empty = true;
  for (const NamedInspection& object : objects) {
    const auto begin = [&] {
      list.Markup("<li>");
      if (names_objects) list.Append(LinkToObject(object.name)).Markup(" ");
      empty = false;
    };
    if (!object.inspection.ok()) {
      begin();
      list.Text(StatusText(object.inspection.status())).Markup("</li>\n");
      continue;
    }
    for (const Finding& finding : Findings(*object.inspection)) {
      begin();
      if (!finding.key.empty()) {
        list.Append(LinkToKey(object.name, finding.key)).Markup(" ");
      }
      list.Text(finding.text).Markup("</li>\n");
    }
  }
  Html html;
  if (empty) {
    html.Markup("<p class=\"good\">Nothing needs attention.</p>\n");
  } else {
    html.Markup("<h2>Needs attention</h2>\n<ul class=\"findings\">\n");
    html.Append(list).Markup("</ul>\n");
  }
  return html;
}

// The meaning of the lines of a plot.
Html Legend() {
  Html html;
  html.Markup(
      "<p class=\"kind legend\">Lines: "
      "<svg width=\"16\" height=\"8\"><line class=\"queued\" x2=\"16\" "
      "y1=\"4\" y2=\"4\"/></svg> queued, "
      "<svg width=\"16\" height=\"8\"><line class=\"waiting\" x2=\"16\" "
      "y1=\"4\" y2=\"4\"/></svg> waiting, "
      "<svg width=\"16\" height=\"8\"><line class=\"failing\" x2=\"16\" "
      "y1=\"4\" y2=\"4\"/></svg> failing</p>\n");
  return html;
}

// A row of the overview.
Html OverviewRow(const NamedInspection& object) {
  Html html;
  html.Markup("<tr><td>").Append(LinkToObject(object.name));
  html.Markup("<br><span class=\"kind\">").Text(object.kind);
  html.Markup("</span></td>");
  if (!object.inspection.ok()) {
    html.Markup("<td colspan=\"6\" class=\"bad\">");
    html.Text(StatusText(object.inspection.status())).Markup("</td></tr>\n");
    return html;
  }
  const Inspection& it = *object.inspection;
  html.Markup("<td>").Append(DepthPlot(object.samples));
  html.Markup("</td><td class=\"number\">").Append(Quantity(it.num_queued));
  if (!it.queued.empty()) {
    html.Markup("<br><span class=\"kind\">next: ");
    html.Text(ReadableDuration(it.taken_at - it.queued[0].time));
    html.Markup("</span>");
  }
  html.Markup("</td><td class=\"number\">").Append(Quantity(it.num_processing));
  if (it.num_workers.has_value()) {
    html.Markup(" of ").Text(ReadableNumber(*it.num_workers));
  }
  if (!it.processing.empty()) {
    html.Markup("<br><span class=\"kind\">longest: ");
    html.Text(ReadableDuration(it.taken_at - it.processing[0].time));
    html.Markup("</span>");
  }
  html.Markup("</td><td class=\"number\">").Append(Quantity(it.num_waiting));
  html.Markup("</td><td class=\"number\">");
  if (it.num_failing.has_value()) {
    html.Append(Quantity(*it.num_failing));
  } else {
    html.Text("?");
  }
  if (!it.failing.empty()) {
    html.Markup("<br><span class=\"kind\">most: ");
    html.Text(ReadableNumber(it.failing[0].failures)).Markup("</span>");
  }
  html.Markup("</td><td>");
  if (it.shutting_down) {
    html.Text("shutting down");
  } else if (it.health.ok()) {
    html.Markup("<span class=\"good\">OK</span>");
  } else {
    html.Markup("<span class=\"bad\">").Text(StatusText(it.health));
    html.Markup("</span>");
  }
  html.Markup("</td></tr>\n");
  return html;
}

// The heading of a list, with the number of the items that the list leaves out.
Html ListHeading(absl::string_view heading, size_t shown, size_t all) {
  Html html;
  html.Markup("<h2>").Text(heading).Markup(" <span class=\"count\">");
  if (shown < all) {
    html.Text(ReadableNumber(shown)).Markup(" of ");
  }
  html.Text(ReadableNumber(all)).Markup("</span></h2>\n");
  return html;
}

// The table of items that are queued, being processed or waiting.
// `time_heading` says what `duration(item)` is.
template <typename F>
Html ItemTable(const NamedInspection& object, absl::string_view heading,
               absl::string_view time_heading,
               const std::vector<InspectedItem>& items, size_t all,
               F duration) {
  Html html;
  if (all == 0) return html;
  html.Append(ListHeading(heading, items.size(), all));
  if (items.empty()) return html;
  html.Markup("<table><thead><tr><th>key</th><th>").Text(time_heading);
  html.Markup("</th><th>notes</th></tr></thead>\n<tbody>\n");
  for (const InspectedItem& item : items) {
    html.Markup("<tr><td>").Append(LinkToKey(object.name, item.key));
    html.Markup("</td><td class=\"number\">");
    html.Append(Age(duration(item), item.time, object.inspection->taken_at));
    html.Markup("</td><td>").Append(Notes(item)).Markup("</td></tr>\n");
  }
  html.Markup("</tbody></table>\n").Append(Others(items.size(), all));
  return html;
}

Html FailureTable(const NamedInspection& object) {
  const Inspection& inspection = *object.inspection;
  const absl::Time now = inspection.taken_at;
  Html html;
  if (inspection.failing.empty()) return html;
  html.Append(ListHeading("Failing", inspection.failing.size(),
                          inspection.num_failing.value_or(0)));
  html.Markup(
      "<table><thead><tr><th>key</th><th>failures</th><th>failing for</th>"
      "<th>next try</th><th>last error</th></tr></thead>\n<tbody>\n");
  for (const InspectedFailure& item : inspection.failing) {
    html.Markup("<tr><td>").Append(LinkToKey(object.name, item.key));
    html.Markup("</td><td class=\"number\">");
    html.Text(ReadableNumber(item.failures));
    html.Markup("</td><td class=\"number\">");
    html.Append(Age(now - item.first_failed_at, item.first_failed_at, now));
    html.Markup("</td><td class=\"number\">");
    if (item.next_try_at.has_value()) {
      html.Text("in ").Append(
          Age(*item.next_try_at - now, *item.next_try_at, now));
    } else {
      html.Text("now");
    }
    html.Markup("</td><td>").Text(item.last_error).Markup("</td></tr>\n");
  }
  html.Markup("</tbody></table>\n");
  html.Append(
      Others(inspection.failing.size(), inspection.num_failing.value_or(0)));
  return html;
}

Html ParkedTable(const NamedInspection& object) {
  const Inspection& inspection = *object.inspection;
  const absl::Time now = inspection.taken_at;
  Html html;
  if (inspection.parked.empty()) return html;
  html.Append(ListHeading("Parked", inspection.parked.size(),
                          inspection.num_parked.value_or(0)));
  html.Markup(
      "<table><thead><tr><th>key</th><th>failures</th><th>parked for</th>"
      "<th>last error</th></tr></thead>\n<tbody>\n");
  for (const InspectedParkedItem& item : inspection.parked) {
    html.Markup("<tr><td>").Append(LinkToKey(object.name, item.key));
    html.Markup("</td><td class=\"number\">");
    html.Text(ReadableNumber(item.failures));
    html.Markup("</td><td class=\"number\">");
    html.Append(Age(now - item.parked_at, item.parked_at, now));
    html.Markup("</td><td>").Text(item.last_error).Markup("</td></tr>\n");
  }
  html.Markup("</tbody></table>\n");
  html.Append(
      Others(inspection.parked.size(), inspection.num_parked.value_or(0)));
  return html;
}

// The keys of the items that a bound counts.
Html KeysOf(const NamedInspection& object, const InspectedBound& bound) {
  Html html;
  for (const std::string& key : bound.keys) {
    html.Append(LinkToKey(object.name, key)).Markup(" ");
  }
  if (bound.keys.size() < bound.processing) {
    html.Text(absl::StrCat(
        "and ", ReadableNumber(bound.processing - bound.keys.size()), " more"));
  }
  return html;
}

Html BoundTable(const NamedInspection& object) {
  Html html;
  if (object.inspection->bounds.empty()) return html;
  html.Markup(
      "<h2>Bounds</h2>\n<table><thead><tr><th>of</th><th>processing</th>"
      "<th>queued items</th><th>being processed</th></tr></thead>\n<tbody>\n");
  for (const InspectedBound& bound : object.inspection->bounds) {
    html.Markup("<tr><td>").Text(bound.name);
    html.Markup("</td><td class=\"number\">");
    html.Text(ReadableNumber(bound.processing)).Markup(" of at most ");
    html.Text(ReadableNumber(bound.max)).Markup("</td><td>");
    if (bound.holds_back) {
      html.Markup("<span class=\"note bad\">wait for these:</span>");
    }
    html.Markup("</td><td>").Append(KeysOf(object, bound));
    html.Markup("</td></tr>\n");
  }
  html.Markup("</tbody></table>\n");
  return html;
}

Html GroupTable(const Inspection& inspection) {
  Html html;
  if (inspection.groups.empty()) return html;
  html.Markup("<h2>Groups <span class=\"count\">of the next ");
  html.Text(ReadableCount(inspection.num_grouped, "queued item"));
  html.Markup(
      "</span></h2>\n<table><thead><tr><th>group</th><th>items</th><th>share"
      "</th></tr></thead>\n<tbody>\n");
  for (const InspectedGroup& group : inspection.groups) {
    const size_t percent = 100 * group.items / inspection.num_grouped;
    html.Markup("<tr><td>").Text(group.name);
    html.Markup("</td><td class=\"number\">");
    html.Text(ReadableNumber(group.items));
    html.Markup("</td><td><meter min=\"0\" max=\"100\" value=\"");
    html.Number(percent).Markup("\"></meter> ").Number(percent);
    html.Markup(" %</td></tr>\n");
  }
  html.Markup("</tbody></table>\n");
  html.Append(Others(inspection.groups.size(), inspection.num_groups));
  html.Markup("<p class=\"kind\">A group with more than half of them needs ");
  html.Markup("attention, if they are at least ").Number(kMinFlood);
  html.Markup(".</p>\n");
  return html;
}

// The last events: those of one item or, if `names_keys`, the last few of all.
Html EventTable(const NamedInspection& object, bool names_keys) {
  constexpr size_t kMaxEventsOfAll = 20;
  const Inspection& inspection = *object.inspection;
  Html html;
  if (inspection.events.empty()) return html;
  size_t left = names_keys ? kMaxEventsOfAll : inspection.events.size();
  html.Markup("<h2>History <span class=\"count\">the last ");
  html.Text(ReadableCount(std::min(left, inspection.events.size()), "event"));
  html.Markup("</span></h2>\n<table><thead><tr><th>ago</th>");
  if (names_keys) html.Markup("<th>key</th>");
  html.Markup("<th>event</th></tr></thead>\n<tbody>\n");
  for (const InspectedEvent& event : inspection.events) {
    if (left-- == 0) break;
    html.Markup("<tr><td class=\"number\">");
    html.Append(
        Age(inspection.taken_at - event.time, event.time, inspection.taken_at));
    html.Markup("</td><td>");
    if (names_keys) {
      html.Append(LinkToKey(object.name, event.key)).Markup("</td><td>");
    }
    html.Text(event.what).Markup("</td></tr>\n");
  }
  html.Markup("</tbody></table>\n");
  return html;
}

Html SearchForm(const NamedInspection& object, absl::string_view key) {
  Html html;
  html.Markup("<form><input type=\"hidden\" name=\"name\" value=\"");
  html.Text(object.name);
  html.Markup("\"><label>Find a key: <input name=\"key\" value=\"").Text(key);
  html.Markup("\" size=\"40\"></label> <button>Find</button></form>\n");
  return html;
}

template <size_t N>
void AddAction(const NamedInspection& object, absl::string_view key,
               const char (&action)[N], absl::string_view label,
               const PageOptions& options, Html* html) {
  html->Markup("<form method=\"post\"><input type=\"hidden\" name=\"token\" ");
  html->Markup("value=\"").Text(options.token);
  html->Markup("\"><input type=\"hidden\" name=\"name\" value=\"");
  html->Text(object.name);
  html->Markup("\"><input type=\"hidden\" name=\"key\" value=\"").Text(key);
  html->Markup("\"><button name=\"action\" value=\"").Markup(action);
  html->Markup("\">").Text(label).Markup("</button></form>\n");
}

Html Actions(const NamedInspection& object, absl::string_view key,
             const PageOptions& options) {
  Html html;
  if (options.token.empty()) return html;
  html.Markup("<div class=\"actions\">\n");
  AddAction(object, key, "requeue", "Requeue now", options, &html);
  AddAction(object, key, "forget", "Forget failures", options, &html);
  AddAction(object, key, "cancel", "Cancel waiting", options, &html);
  html.Markup("</div>\n");
  return html;
}

// The numbers and the options of an object.
Html Summary(const NamedInspection& object) {
  const Inspection& it = *object.inspection;
  Html html;
  html.Markup("<p>").Append(DepthPlot(object.samples)).Markup("</p>\n<dl>\n");
  const auto add = [&html](absl::string_view name, absl::string_view value) {
    html.Markup("<div><dt>").Text(name).Markup("</dt><dd>").Text(value);
    html.Markup("</dd></div>\n");
  };
  add("queued", ReadableNumber(it.num_queued));
  add("processing", ReadableNumber(it.num_processing));
  add("waiting", ReadableNumber(it.num_waiting));
  if (it.num_failing.has_value()) {
    add("failing", ReadableNumber(*it.num_failing));
  }
  if (it.num_parked.has_value()) {
    add("parked", ReadableNumber(*it.num_parked));
  }
  if (object.rates.has_value()) {
    const auto add_rate = [&add](absl::string_view name, double rate) {
      add(name, absl::StrFormat("%.1f/s", rate));
    };
    add_rate("added", object.rates->added);
    add_rate("retried", object.rates->retried);
    add_rate("succeeded", object.rates->succeeded);
    add_rate("failed", object.rates->failed);
  }
  add("health", it.shutting_down ? "shutting down" : StatusText(it.health));
  for (const auto& [name, value] : it.options) add(name, value);
  html.Markup("</dl>\n");
  return html;
}

Html Title(const NamedInspection& object) {
  Html html;
  html.Markup("<h1>").Append(LinkToObject(object.name));
  html.Markup(" <span class=\"kind\">").Text(object.kind);
  html.Markup("</span></h1>\n");
  return html;
}

void AppendItemTables(const NamedInspection& object, Html* html) {
  const Inspection& it = *object.inspection;
  const absl::Time now = it.taken_at;
  const auto age = [now](const InspectedItem& item) { return now - item.time; };
  const auto left = [now](const InspectedItem& item) {
    return item.time - now;
  };
  const std::string processing =
      it.num_workers.has_value()
          ? absl::StrCat("Processing, by ",
                         ReadableCount(*it.num_workers, "worker"))
          : "Processing";
  html->Append(ItemTable(object, processing, "for", it.processing,
                         it.num_processing, age));
  html->Append(FailureTable(object));
  html->Append(ParkedTable(object));
  html->Append(BoundTable(object));
  html->Append(GroupTable(it));
  html->Append(
      ItemTable(object, "Queued", "for", it.queued, it.num_queued, age));
  html->Append(
      ItemTable(object, "Waiting", "due in", it.waiting, it.num_waiting, left));
}

// Says in sentences where the item of a key page is.
Html ItemState(const NamedInspection& object) {
  const Inspection& it = *object.inspection;
  const absl::Time now = it.taken_at;
  Html html;
  const auto since = [now](absl::Time time) {
    return absl::StrCat(ReadableDuration(now - time), ", since ",
                        ReadableTime(time, now));
  };
  const auto add = [&html](absl::string_view text, const Html& notes) {
    html.Markup("<li>").Text(text).Markup(" ").Append(notes);
    html.Markup("</li>\n");
  };
  html.Markup("<ul class=\"state\">\n");
  for (const InspectedItem& item : it.processing) {
    add(absl::StrCat("Being processed for ", since(item.time), "."),
        Notes(item));
  }
  for (const InspectedItem& item : it.queued) {
    add(absl::StrCat("Queued for ", since(item.time), "."), Notes(item));
  }
  for (const InspectedBound& bound : it.bounds) {
    add(absl::StrCat("Held back: ", bound.name, " is at its bound of ",
                     ReadableNumber(bound.max), ". It waits for"),
        KeysOf(object, bound));
  }
  for (const InspectedItem& item : it.waiting) {
    add(absl::StrCat("Waiting for another ", ReadableDuration(item.time - now),
                     ", until ", ReadableTime(item.time, now), "."),
        Notes(item));
  }
  if (it.queued.empty() && it.processing.empty() && it.waiting.empty()) {
    add("Not in the queue.", Html());
  }
  for (const InspectedFailure& item : it.failing) {
    add(absl::StrCat("Has failed ", ReadableCount(item.failures, "time"),
                     " in ", since(item.first_failed_at), ", last ",
                     ReadableDuration(now - item.last_failed_at), " ago, at ",
                     ReadableTime(item.last_failed_at, now), ": ",
                     item.last_error),
        Html());
  }
  for (const InspectedParkedItem& item : it.parked) {
    add(absl::StrCat("Parked for ", since(item.parked_at), ", after ",
                     ReadableCount(item.failures, "failure"),
                     ". It is not tried again. Last error: ", item.last_error),
        Html());
  }
  html.Markup("</ul>\n");
  return html;
}

}  // namespace

std::string OverviewPage(const std::vector<NamedInspection>& objects,
                         const PageOptions& options) {
  Html html;
  html.Append(FindingList(objects, /*names_objects=*/true));
  html.Markup(
      "<table><thead><tr><th>name</th><th>last minutes</th><th>queued</th>"
      "<th>processing</th><th>waiting</th><th>failing</th><th>health</th>"
      "</tr></thead>\n<tbody>\n");
  for (const NamedInspection& object : objects) {
    html.Append(OverviewRow(object));
  }
  html.Markup("</tbody></table>\n").Append(Legend());
  if (objects.empty()) html.Markup("<p>Nothing has been registered.</p>\n");
  return Page("Work queues", html, options);
}

std::string ObjectPage(const NamedInspection& object,
                       const PageOptions& options) {
  Html html = Title(object);
  html.Append(FindingList({object}, /*names_objects=*/false));
  if (object.inspection.ok()) {
    html.Append(Summary(object)).Append(SearchForm(object, ""));
    AppendItemTables(object, &html);
    html.Append(EventTable(object, /*names_keys=*/true));
  }
  return Page(object.name, html, options);
}

std::string KeyPage(const NamedInspection& object, absl::string_view key,
                    const PageOptions& options) {
  Html html = Title(object);
  html.Append(SearchForm(object, key));
  html.Markup("<h2 class=\"key\">").Text(key.empty() ? "(empty)" : key);
  html.Markup("</h2>\n");
  html.Append(Actions(object, key, options));
  html.Append(ItemState(object));
  html.Append(EventTable(object, /*names_keys=*/false));
  return Page(absl::StrCat(key, " in ", object.name), html, options);
}

std::string ErrorPage(absl::string_view message, const PageOptions& options) {
  Html html;
  html.Markup("<p class=\"bad\">").Text(message).Markup("</p>\n");
  return Page("Error", html, options);
}

}  // namespace internal
}  // namespace workqueue
