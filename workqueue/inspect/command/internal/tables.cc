// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/tables.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "workqueue/inspect/command/internal/text_table.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue {
namespace internal {
namespace {

using Json = nlohmann::ordered_json;

// The version of documents that this file understands.
constexpr int kVersion = 1;

// The functions below return a member of a JSON object.

// Returns null if there is none.
const Json& Member(const Json& json, const char* name) {
  static const Json* const null = new Json();
  if (!json.is_object()) return *null;
  const auto it = json.find(name);
  return it == json.end() ? *null : *it;
}

bool Has(const Json& json, const char* name) {
  return !Member(json, name).is_null();
}

std::string Text(const Json& json, const char* name) {
  const Json& member = Member(json, name);
  return member.is_string() ? member.get<std::string>() : "";
}

bool Flag(const Json& json, const char* name) {
  const Json& member = Member(json, name);
  return member.is_boolean() && member.get<bool>();
}

int64_t Integer(const Json& json, const char* name) {
  const Json& member = Member(json, name);
  return member.is_number_integer() ? member.get<int64_t>() : 0;
}

// A number of things, which is not negative.
size_t Number(const Json& json, const char* name) {
  const int64_t number = Integer(json, name);
  return number < 0 ? 0 : static_cast<size_t>(number);
}

double Real(const Json& json, const char* name) {
  const Json& member = Member(json, name);
  return member.is_number() ? member.get<double>() : 0;
}

absl::Time Time(const Json& json, const char* name) {
  absl::Time time;
  return absl::ParseTime(absl::RFC3339_full, Text(json, name), &time, nullptr)
             ? time
             : absl::UnixEpoch();
}

// Returns no elements if the member is no array.
std::vector<Json> List(const Json& json, const char* name) {
  const Json& member = Member(json, name);
  if (!member.is_array()) return {};
  return {member.begin(), member.end()};
}

// The readable time from `begin` until `end`.
std::string Between(absl::Time begin, absl::Time end) {
  return ReadableDuration(end - begin);
}

absl::StatusOr<Json> Parse(absl::string_view document) {
  Json json = Json::parse(document.begin(), document.end(), /*cb=*/nullptr,
                          /*allow_exceptions=*/false);
  if (Integer(json, "version") != kVersion) {
    return absl::DataLossError(
        absl::StrCat("the document has version ", Integer(json, "version"),
                     ", and this command reads version ", kVersion,
                     ": use --json, or the command of the server's version"));
  }
  return json;
}

std::string Key(const Json& json) {
  const std::string key = Text(json, "key");
  return key.empty() ? "(empty)" : key;
}

// "3", or "3 of 4" if the number of workers is known.
std::string Processing(const Json& object) {
  std::string text = ReadableNumber(Number(object, "num_processing"));
  if (Has(object, "num_workers")) {
    absl::StrAppend(&text, " of ",
                    ReadableNumber(Number(object, "num_workers")));
  }
  return text;
}

std::string Failing(const Json& object) {
  return Has(object, "num_failing")
             ? ReadableNumber(Number(object, "num_failing"))
             : "?";
}

std::string Health(const Json& object) {
  return Flag(object, "shutting_down") ? "shutting down"
                                       : Text(object, "health");
}

// The findings of `objects`, with the names of the objects if `name` is true.
std::string FindingTable(const std::vector<Json>& objects, bool name) {
  TextTable table({{""}, {""}, {""}});
  for (const Json& object : objects) {
    const std::string object_name = name ? Text(object, "name") : "";
    if (Has(object, "error")) {
      table.Add({object_name, "", Text(object, "error")});
    }
    for (const Json& finding : List(object, "findings")) {
      table.Add({object_name, Text(finding, "key"), Text(finding, "text")});
    }
  }
  return table.empty() ? "\nNothing needs attention.\n"
                       : "\nNeeds attention:\n" + table.Text("  ");
}

// A heading with the number of the items that the list leaves out.
std::string Heading(absl::string_view heading, size_t shown, size_t all) {
  return absl::StrCat("\n", heading, " (",
                      shown < all ? ReadableNumber(shown) + " of " : "",
                      ReadableNumber(all), "):\n");
}

// Priority, failures and the last error of an item.
std::string Notes(const Json& item) {
  std::vector<std::string> notes;
  if (Integer(item, "priority") != 0) {
    notes.push_back(absl::StrCat("priority ", Integer(item, "priority")));
  }
  if (Flag(item, "added_again")) notes.emplace_back("added again");
  if (Number(item, "failures") != 0) {
    notes.push_back(ReadableCount(Number(item, "failures"), "failure"));
  }
  std::string error = Text(item, "last_error");
  if (!error.empty()) notes.push_back(std::move(error));
  return absl::StrJoin(notes, ", ");
}

std::string QueuedOrProcessing(const Json& object, absl::string_view heading,
                               const char* list, const char* number) {
  TextTable table({{"KEY"}, {"FOR", true}, {"NOTES"}});
  const std::vector<Json> items = List(object, list);
  for (const Json& item : items) {
    table.Add({Key(item),
               Between(Time(item, "since"), Time(object, "taken_at")),
               Notes(item)});
  }
  if (items.empty()) return "";
  return Heading(heading, items.size(), Number(object, number)) +
         table.Text("  ");
}

std::string WaitingTable(const Json& object) {
  TextTable table({{"KEY"}, {"DUE IN", true}, {"NOTES"}});
  const std::vector<Json> items = List(object, "waiting");
  for (const Json& item : items) {
    table.Add({Key(item),
               Between(Time(object, "taken_at"), Time(item, "ready_at")),
               Notes(item)});
  }
  if (items.empty()) return "";
  return Heading("Waiting", items.size(), Number(object, "num_waiting")) +
         table.Text("  ");
}

std::string FailingTable(const Json& object) {
  TextTable table({{"KEY"},
                   {"FAILURES", true},
                   {"FAILING FOR", true},
                   {"NEXT TRY", true},
                   {"LAST ERROR"}});
  const absl::Time now = Time(object, "taken_at");
  const std::vector<Json> items = List(object, "failing");
  for (const Json& item : items) {
    table.Add({Key(item), ReadableNumber(Number(item, "failures")),
               Between(Time(item, "first_failed_at"), now),
               Has(item, "next_try_at")
                   ? "in " + Between(now, Time(item, "next_try_at"))
                   : "now",
               Text(item, "last_error")});
  }
  if (items.empty()) return "";
  return Heading("Failing", items.size(), Number(object, "num_failing")) +
         table.Text("  ");
}

std::string ParkedTable(const Json& object) {
  TextTable table(
      {{"KEY"}, {"FAILURES", true}, {"PARKED FOR", true}, {"LAST ERROR"}});
  const absl::Time now = Time(object, "taken_at");
  const std::vector<Json> items = List(object, "parked");
  for (const Json& item : items) {
    table.Add({Key(item), ReadableNumber(Number(item, "failures")),
               Between(Time(item, "parked_at"), now),
               Text(item, "last_error")});
  }
  if (items.empty()) return "";
  return Heading("Parked", items.size(), Number(object, "num_parked")) +
         table.Text("  ");
}

// The keys of the items that a bound counts, and how many more there are.
std::string KeysOf(const Json& bound) {
  std::vector<std::string> keys;
  for (const Json& key : List(bound, "keys")) {
    if (key.is_string()) keys.push_back(key.get<std::string>());
  }
  const size_t all = Number(bound, "processing");
  if (keys.size() < all) {
    keys.push_back(
        absl::StrCat("and ", ReadableNumber(all - keys.size()), " more"));
  }
  return absl::StrJoin(keys, " ");
}

std::string BoundTable(const Json& object) {
  TextTable table({{"BOUND"}, {"PROCESSING"}, {""}, {"KEYS"}});
  for (const Json& bound : List(object, "bounds")) {
    table.Add({Text(bound, "name"),
               absl::StrCat(ReadableNumber(Number(bound, "processing")), " of ",
                            ReadableNumber(Number(bound, "max"))),
               Flag(bound, "holds_back") ? "queued items wait for" : "",
               KeysOf(bound)});
  }
  return table.empty() ? "" : "\nBounds:\n" + table.Text("  ");
}

std::string GroupTable(const Json& object) {
  TextTable table({{"GROUP"}, {"ITEMS", true}, {"SHARE", true}});
  const size_t all = Number(object, "num_grouped");
  for (const Json& group : List(object, "groups")) {
    const size_t items = Number(group, "items");
    const double share = all == 0 ? 0
                                  : 100.0 * static_cast<double>(items) /
                                        static_cast<double>(all);
    table.Add({Text(group, "name"), ReadableNumber(items),
               absl::StrCat(static_cast<int64_t>(share), " %")});
  }
  if (table.empty()) return "";
  return absl::StrCat("\nGroups of the next ",
                      ReadableCount(all, "queued item"), ":\n",
                      table.Text("  "));
}

std::string EventTable(const Json& object, bool names_keys) {
  TextTable table({{"AGO", true}, {names_keys ? "KEY" : ""}, {"EVENT"}});
  for (const Json& event : List(object, "events")) {
    table.Add({Between(Time(event, "time"), Time(object, "taken_at")),
               names_keys ? Key(event) : "", Text(event, "what")});
  }
  return table.empty() ? "" : "\nHistory:\n" + table.Text("  ");
}

// The name and the kind of an object.
std::string Title(const Json& object) {
  return absl::StrCat(TerminalText(Text(object, "name")), " (",
                      TerminalText(Text(object, "kind")), ")\n");
}

// The numbers and the options of an object.
std::string Summary(const Json& object) {
  TextTable table({{""}, {""}});
  table.Add({"queued", ReadableNumber(Number(object, "num_queued"))});
  table.Add({"processing", Processing(object)});
  table.Add({"waiting", ReadableNumber(Number(object, "num_waiting"))});
  table.Add({"failing", Failing(object)});
  if (Has(object, "num_parked")) {
    table.Add({"parked", ReadableNumber(Number(object, "num_parked"))});
  }
  const Json& rates = Member(object, "rates");
  for (const char* name : {"added", "retried", "succeeded", "failed"}) {
    if (Has(rates, name)) {
      table.Add({name, absl::StrFormat("%.1f/s", Real(rates, name))});
    }
  }
  table.Add({"health", Health(object)});
  const Json& options = Member(object, "options");
  if (options.is_object()) {
    for (const auto& option : options.items()) {
      table.Add({option.key(), option.value().is_string()
                                   ? option.value().get<std::string>()
                                   : ""});
    }
  }
  return "\n" + table.Text("  ");
}

}  // namespace

absl::StatusOr<std::string> OverviewTables(absl::string_view document) {
  const absl::StatusOr<Json> json = Parse(document);
  if (!json.ok()) return json.status();
  const std::vector<Json> objects = List(*json, "objects");
  if (objects.empty()) return "There are no objects.\n";
  TextTable table({{"NAME"},
                   {"KIND"},
                   {"QUEUED", true},
                   {"PROCESSING", true},
                   {"WAITING", true},
                   {"FAILING", true},
                   {"HEALTH"}});
  for (const Json& object : objects) {
    if (Has(object, "error")) {
      table.Add({Text(object, "name"), Text(object, "kind"), "", "", "", "",
                 "unknown"});
    } else {
      table.Add({Text(object, "name"), Text(object, "kind"),
                 ReadableNumber(Number(object, "num_queued")),
                 Processing(object),
                 ReadableNumber(Number(object, "num_waiting")), Failing(object),
                 Health(object)});
    }
  }
  return table.Text("") + FindingTable(objects, /*name=*/true);
}

absl::StatusOr<std::string> ObjectTables(absl::string_view document) {
  const absl::StatusOr<Json> json = Parse(document);
  if (!json.ok()) return json.status();
  return absl::StrCat(
      Title(*json), Summary(*json), FindingTable({*json}, /*name=*/false),
      QueuedOrProcessing(*json, "Processing", "processing", "num_processing"),
      FailingTable(*json), ParkedTable(*json), BoundTable(*json),
      GroupTable(*json),
      QueuedOrProcessing(*json, "Queued", "queued", "num_queued"),
      WaitingTable(*json), EventTable(*json, /*names_keys=*/true));
}

absl::StatusOr<std::string> ItemTables(absl::string_view document,
                                       absl::string_view key) {
  const absl::StatusOr<Json> json = Parse(document);
  if (!json.ok()) return json.status();
  const absl::Time now = Time(*json, "taken_at");
  std::string text = absl::StrCat(key.empty() ? "(empty)" : TerminalText(key),
                                  " in ", Title(*json), "\n");
  const auto add = [&text](absl::string_view state, const Json& item) {
    const std::string notes = TerminalText(Notes(item));
    absl::StrAppend(&text, "  ", state, notes.empty() ? "" : ": ", notes, "\n");
  };
  const std::vector<Json> processing = List(*json, "processing");
  const std::vector<Json> queued = List(*json, "queued");
  const std::vector<Json> waiting = List(*json, "waiting");
  for (const Json& item : processing) {
    add("Being processed for " + Between(Time(item, "since"), now), item);
  }
  for (const Json& item : queued) {
    add("Queued for " + Between(Time(item, "since"), now), item);
  }
  for (const Json& bound : List(*json, "bounds")) {
    absl::StrAppend(&text, "  Held back: ", TerminalText(Text(bound, "name")),
                    " is at its bound of ",
                    ReadableNumber(Number(bound, "max")), ". It waits for ",
                    TerminalText(KeysOf(bound)), "\n");
  }
  for (const Json& item : waiting) {
    add("Waiting for another " + Between(now, Time(item, "ready_at")), item);
  }
  if (processing.empty() && queued.empty() && waiting.empty()) {
    add("Not in the queue", Json());
  }
  for (const Json& item : List(*json, "failing")) {
    absl::StrAppend(&text, "  Has failed ",
                    ReadableCount(Number(item, "failures"), "time"), " in ",
                    Between(Time(item, "first_failed_at"), now), ", last ",
                    Between(Time(item, "last_failed_at"), now),
                    " ago: ", TerminalText(Text(item, "last_error")), "\n");
  }
  for (const Json& item : List(*json, "parked")) {
    absl::StrAppend(&text, "  Parked for ",
                    Between(Time(item, "parked_at"), now), ", after ",
                    ReadableCount(Number(item, "failures"), "failure"), ": ",
                    TerminalText(Text(item, "last_error")), "\n");
  }
  return text + EventTable(*json, /*names_keys=*/false);
}

}  // namespace internal
}  // namespace workqueue
