// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspection_json.h"

#include <string>
#include <utility>
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
    Json& lost = json["lost_here"] = Json::array();
    for (const InspectedItem& it : inspection.lost_here) {
      lost.push_back({{"key", it.key},
                      {"since", Time(it.time)},
                      {"seconds", absl::ToDoubleSeconds(now - it.time)}});
    }
    Json& clients = json["clients"] = Json::array();
    for (const InspectedClient& it : inspection.clients) {
      Json client = {{"name", it.name},
                     {"version", it.version},
                     {"waiting_workers", it.waiting_workers},
                     {"processing", it.processing}};
      if (it.last_seen > absl::InfinitePast()) {
        client["last_seen"] = Time(it.last_seen);
      }
      clients.push_back(std::move(client));
    }
  }

  Json& findings = json["findings"] = Json::array();
  for (const internal::Finding& it : internal::Findings(inspection)) {
    findings.push_back({{"key", it.key}, {"text", it.text}});
  }
  Json& queued = json["queued"] = Json::array();
  for (const InspectedItem& it : inspection.queued) {
    queued.push_back(ItemJson(it, "since", "seconds", now - it.time));
  }
  Json& processing = json["processing"] = Json::array();
  for (const InspectedItem& it : inspection.processing) {
    Json item = ItemJson(it, "since", "seconds", now - it.time);
    item["added_again"] = it.added_again;
    if (!it.holder.empty()) {
      item["holder"] = it.holder;
      item["held_until"] = Time(it.held_until);
    }
    processing.push_back(std::move(item));
  }
  Json& waiting = json["waiting"] = Json::array();
  for (const InspectedItem& it : inspection.waiting) {
    waiting.push_back(ItemJson(it, "ready_at", "seconds_left", it.time - now));
  }
  Json& failing = json["failing"] = Json::array();
  for (const InspectedFailure& it : inspection.failing) {
    Json item = {{"key", it.key},
                 {"failures", it.failures},
                 {"last_error", it.last_error},
                 {"first_failed_at", Time(it.first_failed_at)},
                 {"last_failed_at", Time(it.last_failed_at)}};
    if (it.next_try_at.has_value()) item["next_try_at"] = Time(*it.next_try_at);
    failing.push_back(std::move(item));
  }
  if (inspection.num_parked.has_value()) {
    Json& parked = json["parked"] = Json::array();
    for (const InspectedParkedItem& it : inspection.parked) {
      parked.push_back({{"key", it.key},
                        {"failures", it.failures},
                        {"last_error", it.last_error},
                        {"first_failed_at", Time(it.first_failed_at)},
                        {"parked_at", Time(it.parked_at)}});
    }
  }
  Json& bounds = json["bounds"] = Json::array();
  for (const InspectedBound& it : inspection.bounds) {
    Json bound = {{"name", it.name},
                  {"max", it.max},
                  {"processing", it.processing},
                  {"holds_back", it.holds_back},
                  {"keys", it.keys}};
    if (it.queued.has_value()) bound["queued"] = *it.queued;
    if (it.full_since.has_value()) bound["full_since"] = Time(*it.full_since);
    bounds.push_back(std::move(bound));
  }
  json["num_grouped"] = inspection.num_grouped;
  json["num_groups"] = inspection.num_groups;
  Json& groups = json["groups"] = Json::array();
  for (const InspectedGroup& it : inspection.groups) {
    groups.push_back({{"name", it.name}, {"items", it.items}});
  }
  if (inspection.totals.has_value()) {
    json["totals"] = CountsJson(*inspection.totals);
  }
  Json& events = json["events"] = Json::array();
  for (const InspectedEvent& it : inspection.events) {
    events.push_back(
        {{"time", Time(it.time)}, {"key", it.key}, {"what", it.what}});
  }
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
  Json& samples = json["samples"] = Json::array();
  for (const DepthSample& it : object.samples) {
    Json sample = {{"time", Time(it.time)},
                   {"queued", it.queued},
                   {"processing", it.processing},
                   {"waiting", it.waiting}};
    if (it.failing.has_value()) sample["failing"] = *it.failing;
    samples.push_back(std::move(sample));
  }
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
  Json& list = json["objects"] = Json::array();
  for (const NamedInspection& object : objects) {
    list.push_back(ObjectJson(object));
  }
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
