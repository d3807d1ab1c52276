// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a queue, its partitions and their keys in a server of Valkey or Redis are
// named, which partition has an item, and how the keys say what they contain.
// The data in the engine depends on these functions: a change is a new layout.
// See docs/shared-queue.md.

#ifndef WORKQUEUE_SHARED_INTERNAL_QUEUE_KEYS_H_
#define WORKQUEUE_SHARED_INTERNAL_QUEUE_KEYS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace workqueue::internal {

// Each key belongs to one of so many slots of a cluster of Valkey or Redis.
// Each node has some of the slots, usually a contiguous range.
constexpr int kClusterSlots = 16384;

// Returns the slot of the keys whose hash tag is `tag`: its CRC16 (the XMODEM
// variant), as Redis' cluster specification says.
int ClusterSlotOf(absl::string_view tag);

// Returns an `absl::InvalidArgumentError` if no queue has the name, because it
// is empty or would make another hash tag.
absl::Status CheckQueueName(absl::string_view name);

// Returns the hash tag of partition `i` of `n` of the queue `name`. The first
// partition has the queue's name, so that a client with another `n` meets the
// others there. The partitions are spread evenly over the slots, and so over
// the nodes. Takes milliseconds: it tries names until one has the right slot.
std::string PartitionName(absl::string_view name, size_t i, size_t n);

// Returns which one of `n` partitions has `item`.
size_t PartitionOf(absl::string_view item, size_t n);

// The version of the layout of a queue in the engine. A queue of another
// version is refused.
constexpr int kLayoutVersion = 2;

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

#endif  // WORKQUEUE_SHARED_INTERNAL_QUEUE_KEYS_H_
