// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a server of Valkey or Redis names a queue, and how it says what the
// queue's keys contain. See docs/shared-queue.md.

#ifndef WORKQUEUE_SHARED_INTERNAL_LAYOUT_H_
#define WORKQUEUE_SHARED_INTERNAL_LAYOUT_H_

#include <cstddef>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "workqueue/shared/internal/queue_script.h"

namespace workqueue::internal {

// The largest number of partitions of a queue.
constexpr int kMaxPartitions = 256;

// Returns the key of the hash that each queue, or partition, with the hash tag
// `name` has. It is also the beginning of the queue's other keys. The braces
// make a hash tag: all keys are in one slot of a cluster.
inline std::string MetaKeyOf(absl::string_view name) {
  return absl::StrCat("{", name, "}:workqueue");
}

// Stores the name in `key`. Returns false if `MetaKeyOf()` returns no such key.
inline bool ParseMetaKey(absl::string_view key, std::string* name) {
  if (!absl::ConsumePrefix(&key, "{") ||
      !absl::ConsumeSuffix(&key, "}:workqueue")) {
    return false;
  }
  *name = std::string(key);
  return !key.empty() && key.find_first_of("{}") == absl::string_view::npos;
}

// Returns the layout of a queue's data, which its hash has as "version".
// Clients with different numbers of partitions would look for an item in
// different places, so theirs differ.
inline std::string LayoutOf(size_t partitions) {
  return partitions == 1 ? absl::StrCat(kLayoutVersion)
                         : absl::StrCat(kLayoutVersion, "/", partitions);
}

// Returns the number of partitions in a layout of any version. Returns 1 if the
// text has none that a queue can have.
inline int PartitionsOf(absl::string_view layout) {
  int partitions = 1;
  const size_t slash = layout.find('/');
  return slash != absl::string_view::npos &&
                 absl::SimpleAtoi(layout.substr(slash + 1), &partitions) &&
                 partitions >= 1 && partitions <= kMaxPartitions
             ? partitions
             : 1;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_LAYOUT_H_
