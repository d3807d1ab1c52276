// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspection_json.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/findings.h"

namespace workqueue {
namespace {

// Keeps the order of the members, so that the documents can be read.
using Json = nlohmann::ordered_json;

// The version of the documents. A document of the same version may get more
// members. A member that changes its meaning needs another version.
constexpr int kVersion = 1;

std::string Time(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
}

// Returns the array of `to_json(item)` for each of `items`.
template <typename Items, typename F>
Json List(const Items& items, F to_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

Json ItemJson(const InspectedItem& item, const char* time_name,
              const char* seconds_name, absl::Duration seconds) {
  return {{"key", item.key},
          {time_name, Time(item.time)},
          {seconds_name, absl::ToDoubleSeconds(seconds)},
          {"priority", item.priority},
          {"failures", item.failures},
          {"last_error", item.last_error}};
}

template <typename N>
Json CountsJson(const InspectedCounts<N>& counts) {
  return {{"added", counts.added},
          {"retried", counts.retried},
          {"handed_out", counts.handed_out},
          {"succeeded", counts.succeeded},
          {"failed", counts.failed}};
}

Json ContentsJson(const Inspection& inspection) {
  const absl::Time now = inspection.taken_at;
  Json json = {{"taken_at", Time(now)},
               {"shutting_down", inspection.shutting_down},
               {"health", internal::StatusText(inspection.health)},
               {"settings_problem", inspection.settings_problem},
               {"undecodable", inspection.undecodable},
               {"num_queued", inspection.num_queued},
               {"num_processing", inspection.num_processing},
               {"num_waiting", inspection.num_waiting}};
  if (inspection.data_lost_at.has_value()) {
    json["data_lost_at"] = Time(*inspection.data_lost_at);
  }
  if (inspection.num_failing.has_value()) {
    json["num_failing"] = *inspection.num_failing;
  }
  if (inspection.num_parked.has_value()) {
    json["num_parked"] = *inspection.num_parked;
  }
  if (inspection.num_workers.has_value()) {
    json["num_workers"] = *inspection.num_workers;
  }

  if (inspection.num_processing_here.has_value()) {
    json["num_processing_here"] = *inspection.num_processing_here;
    json["lost_here"] = List(inspection.lost_here, [now](const auto& it) {
      return Json{{"key", it.key},
                  {"since", Time(it.time)},
                  {"seconds", absl::ToDoubleSeconds(now - it.time)}};
    });
    json["clients"] = List(inspection.clients, [](const auto& it) {
      Json client = {{"name", it.name},
                     {"version", it.version},
                     {"waiting_workers", it.waiting_workers},
                     {"processing", it.processing}};
      if (it.last_seen > absl::InfinitePast()) {
        client["last_seen"] = Time(it.last_seen);
      }
      return client;
    });
  }

  json["findings"] = List(internal::Findings(inspection), [](const auto& it) {
    return Json{{"key", it.key}, {"text", it.text}};
  });
  json["queued"] = List(inspection.queued, [now](const auto& it) {
    return ItemJson(it, "since", "seconds", now - it.time);
  });
  json["processing"] = List(inspection.processing, [now](const auto& it) {
    Json item = ItemJson(it, "since", "seconds", now - it.time);
    item["added_again"] = it.added_again;
    if (!it.holder.empty()) {
      item["holder"] = it.holder;
      item["held_until"] = Time(it.held_until);
    }
    return item;
  });
  json["waiting"] = List(inspection.waiting, [now](const auto& it) {
    return ItemJson(it, "ready_at", "seconds_left", it.time - now);
  });
  json["failing"] = List(inspection.failing, [](const auto& it) {
    Json item = {{"key", it.key},
                 {"failures", it.failures},
                 {"last_error", it.last_error},
                 {"first_failed_at", Time(it.first_failed_at)},
                 {"last_failed_at", Time(it.last_failed_at)}};
    if (it.next_try_at.has_value()) item["next_try_at"] = Time(*it.next_try_at);
    return item;
  });
  if (inspection.num_parked.has_value()) {
    json["parked"] = List(inspection.parked, [](const auto& it) {
      return Json{{"key", it.key},
                  {"failures", it.failures},
                  {"last_error", it.last_error},
                  {"first_failed_at", Time(it.first_failed_at)},
                  {"parked_at", Time(it.parked_at)}};
    });
  }
  json["bounds"] = List(inspection.bounds, [](const auto& it) {
    Json bound = {{"name", it.name},
                  {"max", it.max},
                  {"processing", it.processing},
                  {"holds_back", it.holds_back},
                  {"keys", it.keys}};
    if (it.queued.has_value()) bound["queued"] = *it.queued;
    if (it.full_since.has_value()) bound["full_since"] = Time(*it.full_since);
    return bound;
  });
  json["num_grouped"] = inspection.num_grouped;
  json["num_groups"] = inspection.num_groups;
  json["groups"] = List(inspection.groups, [](const auto& it) {
    return Json{{"name", it.name}, {"items", it.items}};
  });
  if (inspection.totals.has_value()) {
    json["totals"] = CountsJson(*inspection.totals);
  }
  json["events"] = List(inspection.events, [](const auto& it) {
    return Json{{"time", Time(it.time)}, {"key", it.key}, {"what", it.what}};
  });
  Json& options = json["options"] = Json::object();
  for (const auto& [name, value] : inspection.options) options[name] = value;
  return json;
}

// Returns the members that are known without the engine.
Json HereJson(const Inspection& here) {
  const Json all = ContentsJson(here);
  Json json = Json::object();
  for (const char* name : {"taken_at", "shutting_down", "health", "num_workers",
                           "num_processing_here", "lost_here", "findings",
                           "processing", "options"}) {
    if (all.contains(name)) json[name] = all[name];
  }
  return json;
}

Json ObjectJson(const NamedInspection& object) {
  Json json = {{"name", object.name}, {"kind", object.kind}};
  if (object.inspection.ok()) {
    json.update(ContentsJson(*object.inspection));
    if (object.rates.has_value()) {
      json["rates"] = CountsJson(*object.rates);
    }
  } else {
    json["error"] = internal::StatusText(object.inspection.status());
    json["health"] = json["error"];
    if (object.here.has_value()) json["here"] = HereJson(*object.here);
  }
  json["samples"] = List(object.samples, [](const auto& it) {
    Json sample = {{"time", Time(it.time)},
                   {"queued", it.queued},
                   {"processing", it.processing},
                   {"waiting", it.waiting}};
    if (it.failing.has_value()) sample["failing"] = *it.failing;
    return sample;
  });
  return json;
}

std::string Dump(const Json& json) {
  // The text of an error or an option may be no UTF-8.
  return json.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::string InspectionJson(const std::vector<NamedInspection>& objects) {
  Json json = {{"version", kVersion}};
  json["objects"] = List(objects, ObjectJson);
  return Dump(json);
}

std::string InspectionJson(const NamedInspection& object) {
  Json json = {{"version", kVersion}};
  json.update(ObjectJson(object));
  return Dump(json);
}

std::string InspectionErrorJson(const absl::Status& error) {
  return Dump({{"version", kVersion}, {"error", internal::StatusText(error)}});
}

}  // namespace workqueue
