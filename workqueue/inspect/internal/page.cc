// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/page.h"

#include <algorithm>
#include <cstddef>
#include <memory>
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
#include "workqueue/inspect/internal/findings.h"
#include "workqueue/inspect/internal/page_writer.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue::internal {
namespace {

using Kind = PagePiece::Kind;

std::unique_ptr<PageWriter> NewWriter(const PageOptions& options) {
  return options.text ? NewTextWriter() : NewHtmlWriter(options);
}

PageCell Cell(std::string text, Kind kind = Kind::kPlain) {
  return {{{std::move(text), kind}}};
}

PageCell Quantity(size_t n) { return Cell(ReadableNumber(n), Kind::kNumber); }

PageCell LinkToKey(const NamedInspection& object, const std::string& key) {
  return {{{key, Kind::kKey, object.name}}};
}

// The time since or until `time`, and the time itself.
PageCell Age(absl::Duration age, absl::Time time, absl::Time now) {
  return {{{ReadableDuration(age)}}, ReadableTime(time, now)};
}

// Says how many items a list that is not empty has left out.
void AddOthers(size_t shown, size_t all, PageWriter* page) {
  if (shown >= all) return;
  page->Paragraph(
      {absl::StrCat("and ", ReadableNumber(all - shown), " more"), Kind::kDim});
}

// The notes on an item: priority, who holds it, failures, the last error.
PageCell Notes(const InspectedItem& item, absl::Time now) {
  PageCell cell;
  if (item.priority != 0) {
    cell.pieces.push_back(
        {absl::StrCat("priority ", item.priority), Kind::kNote});
  }
  if (item.added_again) cell.pieces.push_back({"added again", Kind::kNote});
  if (!item.holder.empty()) {
    cell.pieces.push_back({absl::StrCat("by ", item.holder), Kind::kNote});
    if (item.held_until < absl::InfiniteFuture()) {
      cell.pieces.push_back(
          {absl::StrCat("lease until ", ReadableTime(item.held_until, now)),
           Kind::kDim});
    }
  }
  if (item.failures != 0) {
    cell.pieces.push_back(
        {ReadableCount(item.failures, "failure"), Kind::kBadNote});
  }
  if (!item.last_error.empty()) cell.pieces.push_back({item.last_error});
  return cell;
}

// Says why an object could not be inspected, and until when it could.
std::string UnknownText(const NamedInspection& object) {
  std::string text = "Unknown";
  if (!object.samples.empty()) {
    // With the day, because no inspection tells what day it is.
    const DepthSample& last = object.samples.back();
    absl::StrAppend(&text, " since ",
                    ReadableTime(last.time, /*now=*/absl::InfinitePast()),
                    ", when ", ReadableCount(last.queued, "item"),
                    last.queued == 1 ? " was" : " were", " queued, ",
                    ReadableNumber(last.processing), " in process and ",
                    ReadableNumber(last.waiting), " waiting");
  }
  return absl::StrCat(text, ": ", StatusText(object.inspection.status()));
}

// Returns the contents of the object, or what is known of them nevertheless.
const Inspection& KnownOf(const NamedInspection& object) {
  return object.inspection.ok() ? *object.inspection : *object.here;
}

// The findings of all objects, as a list.
void AddFindings(const std::vector<NamedInspection>& objects,
                 bool names_objects, PageWriter* page) {
  std::vector<PageRow> sentences;
  for (const NamedInspection& object : objects) {
    const auto add = [&](PageCell key, std::string text) {
      PageCell name;
      if (names_objects) name = Cell(object.name, Kind::kObject);
      sentences.push_back(
          {std::move(name), std::move(key), Cell(std::move(text))});
    };
    if (!object.inspection.ok()) {
      add(PageCell(), UnknownText(object));
      if (!object.here.has_value()) continue;
    }
    for (const Finding& finding : Findings(KnownOf(object))) {
      add(finding.key.empty() ? PageCell() : LinkToKey(object, finding.key),
          finding.text);
    }
  }
  if (sentences.empty()) {
    page->Paragraph({"Nothing needs attention.", Kind::kGood});
  } else {
    page->Heading("Needs attention", "");
    page->List("findings", sentences);
  }
}

// A row of the overview.
PageRow OverviewRow(const NamedInspection& object) {
  PageRow row = {Cell(object.name, Kind::kObject)};
  row[0].note = object.kind;
  if (!object.inspection.ok()) {
    row.push_back(Cell(UnknownText(object), Kind::kBad));
    return row;
  }
  const Inspection& it = *object.inspection;
  PageCell plot;
  plot.samples = &object.samples;

  PageCell queued = Quantity(it.num_queued);
  if (!it.queued.empty()) {
    queued.note = absl::StrCat(
        "next: ", ReadableDuration(it.taken_at - it.queued[0].time));
  }

  PageCell processing = Quantity(it.num_processing);
  if (it.num_workers.has_value()) {
    processing.pieces.push_back({absl::StrCat(
        it.num_processing_here.has_value()
            ? absl::StrCat("(", ReadableNumber(*it.num_processing_here),
                           " here, of ")
            : "of ",
        ReadableNumber(*it.num_workers),
        it.num_processing_here.has_value() ? ")" : "")});
  }
  absl::Time first = absl::InfiniteFuture();
  for (const auto* items : {&it.processing, &it.lost_here}) {
    if (!items->empty()) first = std::min(first, items->front().time);
  }
  if (first < absl::InfiniteFuture()) {
    processing.note =
        absl::StrCat("longest: ", ReadableDuration(it.taken_at - first));
  }

  PageCell failing =
      it.num_failing.has_value() ? Quantity(*it.num_failing) : Cell("?");
  if (!it.failing.empty()) {
    failing.note =
        absl::StrCat("most: ", ReadableNumber(it.failing[0].failures));
  }

  row.insert(row.end(),
             {plot, queued, processing, Quantity(it.num_waiting), failing,
              it.shutting_down ? Cell("shutting down")
              : it.health.ok() ? Cell("OK", Kind::kGood)
                               : Cell(StatusText(it.health), Kind::kBad)});
  return row;
}

// The heading of a list, with the number of the items that the list leaves out.
void AddHeading(absl::string_view heading, size_t shown, size_t all,
                PageWriter* page) {
  page->Heading(heading,
                absl::StrCat(shown < all ? ReadableNumber(shown) + " of " : "",
                             ReadableNumber(all)));
}

// The table of items that are queued or being processed or, if `wait`, waiting.
void AddItems(const NamedInspection& object, absl::string_view heading,
              bool wait, const std::vector<InspectedItem>& items, size_t all,
              PageWriter* page) {
  if (all == 0) return;
  AddHeading(heading, items.size(), all, page);
  if (items.empty()) return;
  const absl::Time now = KnownOf(object).taken_at;
  PageTable table = {{{"key"}, {wait ? "due in" : "for", true}, {"notes"}}};
  for (const InspectedItem& item : items) {
    const absl::Duration age = wait ? item.time - now : now - item.time;
    table.rows.push_back({LinkToKey(object, item.key), Age(age, item.time, now),
                          Notes(item, now)});
  }
  page->Table(table);
  AddOthers(items.size(), all, page);
}

void AddFailures(const NamedInspection& object, PageWriter* page) {
  const Inspection& inspection = *object.inspection;
  const absl::Time now = inspection.taken_at;
  if (inspection.failing.empty()) return;
  const size_t all = inspection.num_failing.value_or(0);
  AddHeading("Failing", inspection.failing.size(), all, page);
  PageTable table = {{{"key"},
                      {"failures", true},
                      {"failing for", true},
                      {"next try", true},
                      {"last error"}}};
  const bool knows_process =
      inspection.processing.size() >= inspection.num_processing;
  for (const InspectedFailure& item : inspection.failing) {
    const bool in_process =
        std::any_of(inspection.processing.begin(), inspection.processing.end(),
                    [&item](const auto& it) { return it.key == item.key; });
    PageCell next = Cell(in_process      ? "in process"
                         : knows_process ? "now"
                                         : "now, or in process");
    if (item.next_try_at.has_value()) {
      next = Age(*item.next_try_at - now, *item.next_try_at, now);
      next.pieces[0].text.insert(0, "in ");
    }
    table.rows.push_back(
        {LinkToKey(object, item.key), Cell(ReadableNumber(item.failures)),
         Age(now - item.first_failed_at, item.first_failed_at, now),
         std::move(next), Cell(item.last_error)});
  }
  page->Table(table);
  AddOthers(inspection.failing.size(), all, page);
}

void AddParked(const NamedInspection& object, PageWriter* page) {
  const Inspection& inspection = *object.inspection;
  const absl::Time now = inspection.taken_at;
  if (inspection.parked.empty()) return;
  const size_t all = inspection.num_parked.value_or(0);
  AddHeading("Parked", inspection.parked.size(), all, page);
  PageTable table = {
      {{"key"}, {"failures", true}, {"parked for", true}, {"last error"}}};
  for (const InspectedParkedItem& item : inspection.parked) {
    table.rows.push_back({LinkToKey(object, item.key),
                          Cell(ReadableNumber(item.failures)),
                          Age(now - item.parked_at, item.parked_at, now),
                          Cell(item.last_error)});
  }
  page->Table(table);
  AddOthers(inspection.parked.size(), all, page);
}

// Appends the keys of the items that a bound counts.
PageCell WithKeys(PageCell cell, const NamedInspection& object,
                  const InspectedBound& bound) {
  for (const std::string& key : bound.keys) {
    cell.pieces.push_back({key, Kind::kKey, object.name});
  }
  if (bound.keys.size() < bound.processing) {
    cell.pieces.push_back({absl::StrCat(
        "and ", ReadableNumber(bound.processing - bound.keys.size()),
        " more")});
  }
  return cell;
}

void AddBounds(const NamedInspection& object, PageWriter* page) {
  if (object.inspection->bounds.empty()) return;
  page->Heading("Bounds", "");
  PageTable table = {
      {{"of"}, {"processing", true}, {"queued items"}, {"being processed"}}};
  for (const InspectedBound& bound : object.inspection->bounds) {
    table.rows.push_back(
        {Cell(bound.name),
         Cell(absl::StrCat(ReadableNumber(bound.processing), " of at most ",
                           ReadableNumber(bound.max))),
         bound.holds_back
             ? Cell(absl::StrCat(bound.queued.has_value()
                                     ? ReadableNumber(*bound.queued) + " "
                                     : "",
                                 "wait for these:"),
                    Kind::kBadNote)
             : PageCell(),
         WithKeys(PageCell(), object, bound)});
  }
  page->Table(table);
}

void AddClients(const Inspection& inspection, PageWriter* page) {
  if (inspection.clients.empty()) return;
  const absl::Time now = inspection.taken_at;
  page->Heading("Processes", absl::StrCat(inspection.clients.size()));
  PageTable table = {{{"name"},
                      {"version"},
                      {"last seen", true},
                      {"waiting workers", true},
                      {"processing", true}}};
  for (const InspectedClient& client : inspection.clients) {
    table.rows.push_back(
        {Cell(client.name), Cell(client.version),
         client.last_seen == absl::InfinitePast()
             ? Cell("?")
             : Age(now - client.last_seen, client.last_seen, now),
         Quantity(client.waiting_workers), Quantity(client.processing)});
  }
  page->Table(table);
}

void AddGroups(const Inspection& inspection, PageWriter* page) {
  if (inspection.groups.empty()) return;
  page->Heading("Groups", absl::StrCat("of the next ",
                                       ReadableCount(inspection.num_grouped,
                                                     "queued item")));
  PageTable table = {{{"group"}, {"items", true}, {"share"}}};
  for (const InspectedGroup& group : inspection.groups) {
    const size_t percent =
        100 * group.items / std::max<size_t>(inspection.num_grouped, 1);
    PageCell share = Cell(absl::StrCat(percent, " %"));
    share.percent = percent;
    table.rows.push_back({Cell(group.name), Cell(ReadableNumber(group.items)),
                          std::move(share)});
  }
  page->Table(table);
  AddOthers(inspection.groups.size(), inspection.num_groups, page);
  page->Paragraph({absl::StrCat("A group with more than half of them needs "
                                "attention, if they are at least ",
                                kMinFlood, "."),
                   Kind::kDim});
}

// The last events: those of one item or, if `names_keys`, the last few of all.
void AddEvents(const NamedInspection& object, bool names_keys,
               PageWriter* page) {
  constexpr size_t kMaxEventsOfAll = 20;
  const Inspection& inspection = *object.inspection;
  const absl::Time now = inspection.taken_at;
  if (inspection.events.empty()) return;
  size_t left = inspection.events.size();
  if (names_keys) left = std::min(left, kMaxEventsOfAll);
  page->Heading("History",
                absl::StrCat("the last ", ReadableCount(left, "event")));
  PageTable table = {{{"ago", true}}};
  if (names_keys) table.columns.push_back({"key"});
  table.columns.push_back({"event"});
  for (const InspectedEvent& event : inspection.events) {
    if (left-- == 0) break;
    PageRow row = {Age(now - event.time, event.time, now)};
    if (names_keys) row.push_back(LinkToKey(object, event.key));
    row.push_back(Cell(event.what));
    table.rows.push_back(std::move(row));
  }
  page->Table(table);
}

// The numbers and the options of an object.
void AddSummary(const NamedInspection& object, PageWriter* page) {
  const Inspection& it = *object.inspection;
  page->Plot(object.samples);
  std::vector<PageRow> values;
  const auto add = [&values](absl::string_view name, std::string value) {
    values.push_back({Cell(std::string(name)), Cell(std::move(value))});
  };
  add("queued", ReadableNumber(it.num_queued));
  add("processing", ReadableNumber(it.num_processing));
  add("waiting", ReadableNumber(it.num_waiting));
  add("failing",
      it.num_failing.has_value() ? ReadableNumber(*it.num_failing) : "?");
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
  page->Values(values);
}

void AddLists(const NamedInspection& object, PageWriter* page) {
  const Inspection& it = *object.inspection;
  std::string processing = "Processing";
  if (it.num_workers.has_value()) {
    if (it.num_processing_here.has_value()) {
      absl::StrAppend(&processing, ", ",
                      ReadableNumber(*it.num_processing_here), " here");
    }
    absl::StrAppend(&processing, ", by ",
                    ReadableCount(*it.num_workers, "worker"));
  }
  AddItems(object, processing, /*wait=*/false, it.processing, it.num_processing,
           page);
  AddClients(it, page);
  AddFailures(object, page);
  AddParked(object, page);
  AddBounds(object, page);
  AddGroups(it, page);
  AddItems(object, "Queued", /*wait=*/false, it.queued, it.num_queued, page);
  AddItems(object, "Waiting", /*wait=*/true, it.waiting, it.num_waiting, page);
}

// Says in sentences where the item of a key page is.
void AddState(const NamedInspection& object, PageWriter* page) {
  const Inspection& it = *object.inspection;
  const absl::Time now = it.taken_at;
  std::vector<PageRow> sentences;
  const auto since = [now](absl::Time time) {
    return absl::StrCat(ReadableDuration(now - time), ", since ",
                        ReadableTime(time, now));
  };
  const auto add = [&sentences](std::string text, PageCell notes = PageCell()) {
    notes.pieces.insert(notes.pieces.begin(), {std::move(text)});
    sentences.push_back({std::move(notes)});
  };
  for (const InspectedItem& item : it.processing) {
    add(absl::StrCat("Being processed for ", since(item.time), "."),
        Notes(item, now));
  }
  for (const InspectedItem& item : it.lost_here) {
    add(absl::StrCat("Processed here for ", since(item.time),
                     ", although its lease is lost."));
  }
  for (const InspectedItem& item : it.queued) {
    add(absl::StrCat("Queued for ", since(item.time), "."), Notes(item, now));
  }
  for (const InspectedBound& bound : it.bounds) {
    if (!bound.holds_back) continue;
    add(absl::StrCat("Held back: ", bound.name, " is at its bound of ",
                     ReadableNumber(bound.max), ". It waits for"),
        WithKeys(PageCell(), object, bound));
  }
  for (const InspectedItem& item : it.waiting) {
    add(absl::StrCat("Waiting for another ", ReadableDuration(item.time - now),
                     ", until ", ReadableTime(item.time, now), "."),
        Notes(item, now));
  }
  if (sentences.empty()) {
    add("Not in the queue.");
  }
  for (const InspectedFailure& item : it.failing) {
    add(absl::StrCat("Has failed ", ReadableCount(item.failures, "time"),
                     " in ", since(item.first_failed_at), ", last ",
                     ReadableDuration(now - item.last_failed_at), " ago, at ",
                     ReadableTime(item.last_failed_at, now), ": ",
                     item.last_error));
  }
  for (const InspectedParkedItem& item : it.parked) {
    add(absl::StrCat("Parked for ", since(item.parked_at), ", after ",
                     ReadableCount(item.failures, "failure"),
                     ". It is not tried again. Last error: ", item.last_error));
  }
  page->List("state", sentences);
}

}  // namespace

std::string OverviewPage(const std::vector<NamedInspection>& objects,
                         const PageOptions& options) {
  const std::unique_ptr<PageWriter> page = NewWriter(options);
  if (!objects.empty()) {  // nothing is known of nothing
    AddFindings(objects, /*names_objects=*/true, page.get());
  }
  PageTable table = {{{"name"},
                      {"last minutes"},
                      {"queued", true},
                      {"processing", true},
                      {"waiting", true},
                      {"failing", true},
                      {"health"}},
                     /*notes_below=*/true};
  for (const NamedInspection& object : objects) {
    table.rows.push_back(OverviewRow(object));
  }
  page->Table(table);
  page->Legend();
  if (objects.empty()) page->Paragraph({"Nothing has been registered."});
  return page->Finish("Work queues");
}

std::string ObjectPage(const NamedInspection& object,
                       const PageOptions& options) {
  const std::unique_ptr<PageWriter> page = NewWriter(options);
  page->Title(object);
  AddFindings({object}, /*names_objects=*/false, page.get());
  if (object.inspection.ok()) {
    AddSummary(object, page.get());
    page->SearchForm(object, "");
    AddLists(object, page.get());
    AddEvents(object, /*names_keys=*/true, page.get());
  } else if (object.here.has_value()) {
    const Inspection& it = *object.here;
    AddItems(object, "Processing here", /*wait=*/false, it.processing,
             it.num_processing, page.get());
  }
  return page->Finish(object.name);
}

std::string KeyPage(const NamedInspection& object, absl::string_view raw_key,
                    const PageOptions& options) {
  // The same key, which no form of HTML changes.
  const std::string key = TerminalText(raw_key);
  const std::unique_ptr<PageWriter> page = NewWriter(options);
  page->Title(object);
  page->SearchForm(object, key);
  page->KeyHeading(key);
  page->Actions(object, key);
  AddState(object, page.get());
  AddEvents(object, /*names_keys=*/false, page.get());
  return page->Finish(absl::StrCat(key, " in ", object.name));
}

std::string ErrorPage(absl::string_view message, const PageOptions& options) {
  const std::unique_ptr<PageWriter> page = NewWriter(options);
  page->Paragraph({std::string(message), Kind::kBad});
  return page->Finish("Error");
}

}  // namespace workqueue::internal
