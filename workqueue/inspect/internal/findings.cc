// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/findings.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/internal/readable.h"
#include "workqueue/internal/printable.h"

namespace workqueue {
namespace internal {
namespace {

constexpr size_t kMaxNamed = 3;
constexpr absl::Duration kNotable = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Minutes(1);
constexpr int kManyFailures = 5;
constexpr size_t kManyQueued = 100;

}  // namespace

std::vector<Finding> Findings(const Inspection& inspection) {
  std::vector<Finding> findings;
  const auto add = [&findings](std::string text, const std::string& key = "") {
    findings.push_back({std::move(text), key});
  };

  if (!inspection.health.ok()) {
    add(absl::StrCat("Not healthy: ", Printable(StatusText(inspection.health),
                                                kPrintedErrorBytes)));
  }

  if (inspection.num_workers.has_value() &&
      inspection.num_processing >= *inspection.num_workers &&
      std::any_of(inspection.queued.begin(), inspection.queued.end(),
                  [&inspection](const InspectedItem& item) {
                    return inspection.taken_at - item.time > kNotable;
                  })) {
    add(absl::StrCat(
        *inspection.num_workers == 1
            ? "The only worker is"
            : absl::StrCat("All ", *inspection.num_workers, " workers are"),
        " busy, and ", ReadableCount(inspection.num_queued, "item"),
        inspection.num_queued == 1 ? " is" : " are", " queued."));
  }

  const size_t num_processing =
      std::min(kMaxNamed, inspection.processing.size());
  for (size_t i = 0; i < num_processing; ++i) {
    const InspectedItem& item = inspection.processing[i];
    const absl::Duration age = inspection.taken_at - item.time;
    if (age <= kLong) break;  // The others have been processed for less time.
    add(absl::StrCat("has been processed for ", ReadableDuration(age), "."),
        item.key);
  }

  const size_t num_failing = std::min(kMaxNamed, inspection.failing.size());
  for (size_t i = 0; i < num_failing; ++i) {
    const InspectedFailure& item = inspection.failing[i];
    if (item.failures < kManyFailures) break;
    add(absl::StrCat(
            "has failed ", item.failures, " times in ",
            ReadableDuration(inspection.taken_at - item.first_failed_at),
            ", last with ", item.last_error),
        item.key);
  }

  const size_t num_parked = inspection.num_parked.value_or(0);
  if (num_parked > 0) {
    add(absl::StrCat(ReadableCount(num_parked, "item"),
                     num_parked == 1 ? " is" : " are",
                     " parked, and not tried again."));
  }

  if (!inspection.groups.empty() && inspection.num_grouped >= kManyQueued &&
      inspection.groups[0].items > inspection.num_grouped / 2) {
    add(absl::StrCat("\"", inspection.groups[0].name, "\" has ",
                     inspection.groups[0].items, " of the next ",
                     inspection.num_grouped, " queued items."));
  }

  if (!inspection.queued.empty()) {
    const InspectedItem& next = inspection.queued[0];
    const absl::Duration age = inspection.taken_at - next.time;
    if (age > kLong) {
      add(absl::StrCat("is next, and has been queued for ",
                       ReadableDuration(age), "."),
          next.key);
    }
  }
  return findings;
}

}  // namespace internal
}  // namespace workqueue
