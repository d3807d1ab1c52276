// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/groups.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {
namespace internal {
namespace {

constexpr size_t kMaxGroups = 10;

template <typename V>
void KeepFirstOf(size_t max, std::vector<V>* v) {
  if (v->size() > max) v->resize(max);
}

}  // namespace

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
  KeepFirstOf(max_items, &inspection->waiting);
  KeepFirstOf(max_items, &inspection->failing);
  KeepFirstOf(max_items, &inspection->parked);
  KeepFirstOf(max_items, &inspection->bounds);
  for (InspectedBound& bound : inspection->bounds) {
    KeepFirstOf(max_items, &bound.keys);
  }
}

}  // namespace internal
}  // namespace workqueue
