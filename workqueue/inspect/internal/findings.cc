// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/findings.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue::internal {
namespace {

constexpr size_t kMaxNamed = 3;
constexpr absl::Duration kNotable = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kRecent = absl::Hours(1);
constexpr int kManyFailures = 5;
// A process that uses a shared queue makes a request each 10 seconds, and the
// time of one of two is recorded.
constexpr absl::Duration kSilent = absl::Seconds(45);
constexpr size_t kMaxGroups = 10;

template <typename V>
void KeepFirstOf(size_t max, std::vector<V>* v) {
  if (v->size() > max) v->resize(max);
}

}  // namespace

std::vector<Finding> Findings(const Inspection& inspection) {
  const absl::Time now = inspection.taken_at;
  std::vector<Finding> findings;
  const auto add = [&findings](std::string text, const std::string& key = "") {
    findings.push_back({std::move(text), key});
  };

  if (!inspection.health.ok()) {
    add(absl::StrCat("Not healthy: ", Printable(StatusText(inspection.health),
                                                kPrintedErrorBytes)));
  }

  if (inspection.data_lost_at.has_value() &&
      now - *inspection.data_lost_at < kRecent) {
    add(absl::StrCat("The engine has lost all items, as this process saw ",
                     ReadableDuration(now - *inspection.data_lost_at),
                     " ago."));
  }

  if (!inspection.settings_problem.empty()) {
    add(absl::StrCat("The engine may lose items: ", inspection.settings_problem,
                     "."));
  }

  if (!inspection.undecodable.empty()) {
    const size_t n = inspection.undecodable.size();
    add(absl::StrCat("This process cannot decode ", ReadableCount(n, "item"),
                     n == 1 ? ": " : ", such as ", inspection.undecodable[0],
                     "."));
  }

  for (const InspectedClient& client : inspection.clients) {
    if (client.processing == 0 || now - client.last_seen <= kSilent) continue;
    add(absl::StrCat(
        client.name, " holds ", ReadableCount(client.processing, "item"),
        ", and has not been heard of",
        client.last_seen == absl::InfinitePast()
            ? "."
            : absl::StrCat(" for ", ReadableDuration(now - client.last_seen),
                           ".")));
  }

  // Says how many items of a list are not named. A list that does not have all
  // items may have left out more of them.
  const auto add_others = [&add](size_t listed, size_t in_list, size_t all,
                                 absl::string_view what) {
    if (listed <= kMaxNamed) return;
    add(absl::StrCat(
        listed == in_list && in_list < all ? "And at least " : "And ",
        ReadableNumber(listed - kMaxNamed), " more ",
        listed - kMaxNamed == 1 ? "has " : "have ", what));
  };

  const size_t num_lost = inspection.lost_here.size();
  for (size_t i = 0; i < std::min(num_lost, kMaxNamed); ++i) {
    const InspectedItem& item = inspection.lost_here[i];
    add(absl::StrCat("has been processed here for ",
                     ReadableDuration(now - item.time),
                     ", although its lease is lost: ",
                     item.added_again
                         ? "its next processing waits for the end of this one."
                         : "another worker may have it."),
        item.key);
  }
  add_others(num_lost, num_lost,
             inspection.num_processing_here.value_or(num_lost), "lost leases.");

  if (inspection.num_workers.has_value() &&
      inspection.num_processing_here.value_or(inspection.num_processing) >=
          *inspection.num_workers &&
      std::any_of(inspection.queued.begin(), inspection.queued.end(),
                  [now](const InspectedItem& item) {
                    return now - item.time > kNotable;
                  })) {
    add(absl::StrCat(
        *inspection.num_workers == 1
            ? "The only worker is"
            : absl::StrCat("All ", *inspection.num_workers, " workers are"),
        inspection.num_processing_here.has_value() ? " busy here, and "
                                                   : " busy, and ",
        ReadableCount(inspection.num_queued, "item"),
        inspection.num_queued == 1 ? " is" : " are", " queued."));
  }

  for (const InspectedBound& bound : inspection.bounds) {
    if (!bound.holds_back || !bound.full_since.has_value() ||
        now - *bound.full_since <= kLong) {
      continue;
    }
    add(absl::StrCat("At its bound: ", bound.name, ", with ", bound.processing,
                     " of ", bound.max, " in process for at least ",
                     ReadableDuration(now - *bound.full_since), ", while ",
                     bound.queued.has_value()
                         ? ReadableCount(*bound.queued, "item")
                         : "others",
                     bound.queued == 1 ? " is queued." : " are queued."));
  }

  size_t num_long = 0;
  for (const InspectedItem& item : inspection.processing) {
    if (now - item.time <= kLong) break;  // The others: for less time.
    if (++num_long > kMaxNamed) continue;
    add(absl::StrCat("has been processed for ",
                     ReadableDuration(now - item.time), ", since ",
                     ReadableTime(item.time, now), "."),
        item.key);
  }
  add_others(num_long, inspection.processing.size(), inspection.num_processing,
             "been processed for more than a minute.");

  size_t num_failing = 0;
  for (const InspectedFailure& item : inspection.failing) {
    if (item.failures < kManyFailures) break;
    if (++num_failing > kMaxNamed) continue;
    add(absl::StrCat("has failed ", item.failures, " times in ",
                     ReadableDuration(now - item.first_failed_at), ", since ",
                     ReadableTime(item.first_failed_at, now), ", last with ",
                     item.last_error),
        item.key);
  }
  add_others(num_failing, inspection.failing.size(),
             inspection.num_failing.value_or(0),
             absl::StrCat("failed at least ", kManyFailures, " times."));

  const size_t num_parked = inspection.num_parked.value_or(0);
  if (num_parked > 0) {
    add(absl::StrCat(ReadableCount(num_parked, "item"),
                     num_parked == 1 ? " is" : " are",
                     " parked, and not tried again."));
  }

  if (!inspection.groups.empty() && inspection.num_grouped >= kMinFlood &&
      inspection.groups[0].items > inspection.num_grouped / 2) {
    add(absl::StrCat("\"", inspection.groups[0].name, "\" has ",
                     inspection.groups[0].items, " of the next ",
                     inspection.num_grouped, " queued items."));
  }

  if (!inspection.queued.empty()) {
    const InspectedItem& next = inspection.queued[0];
    const absl::Duration age = now - next.time;
    if (age > kLong) {
      add(absl::StrCat("is next, and has been queued for ",
                       ReadableDuration(age), ", since ",
                       ReadableTime(next.time, now), "."),
          next.key);
    }
  }
  return findings;
}

std::optional<absl::Time> FullSince(
    const InspectedBound& bound, const std::vector<InspectedItem>& processing) {
  if (bound.keys.size() < bound.processing) return std::nullopt;
  absl::Time since = absl::InfinitePast();
  size_t found = 0;
  for (const InspectedItem& item : processing) {
    if (!std::binary_search(bound.keys.begin(), bound.keys.end(), item.key)) {
      continue;
    }
    ++found;
    since = std::max(since, item.time);
  }
  if (found < bound.processing) return std::nullopt;
  return since;
}

void GroupQueued(size_t max_items, Inspection* inspection) {
  inspection->num_grouped = std::min(max_items, inspection->queued.size());
  absl::flat_hash_map<absl::string_view, size_t> counts;
  for (size_t i = 0; i < inspection->num_grouped; ++i) {
    const absl::string_view key = inspection->queued[i].key;
    const size_t slash = key.find('/');
    if (slash != key.npos) ++counts[key.substr(0, slash)];
  }
  for (const auto& [name, items] : counts) {
    if (items > 1) inspection->groups.push_back({std::string(name), items});
  }
  std::sort(inspection->groups.begin(), inspection->groups.end(),
            [](const InspectedGroup& a, const InspectedGroup& b) {
              return a.items != b.items ? a.items > b.items : a.name < b.name;
            });
  inspection->num_groups = inspection->groups.size();
  KeepFirstOf(kMaxGroups, &inspection->groups);
}

void KeepFirst(size_t max_items, Inspection* inspection) {
  KeepFirstOf(max_items, &inspection->queued);
  KeepFirstOf(max_items, &inspection->processing);
  KeepFirstOf(max_items, &inspection->lost_here);
  KeepFirstOf(max_items, &inspection->waiting);
  KeepFirstOf(max_items, &inspection->failing);
  KeepFirstOf(max_items, &inspection->parked);
  KeepFirstOf(max_items, &inspection->bounds);
  for (InspectedBound& bound : inspection->bounds) {
    KeepFirstOf(max_items, &bound.keys);
  }
}

}  // namespace workqueue::internal
