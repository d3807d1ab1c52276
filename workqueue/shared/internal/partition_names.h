// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which partition of a queue has an item, and how the partitions are named. The
// data in the engine depends on these functions: a change is a new layout.

#ifndef WORKQUEUE_SHARED_INTERNAL_PARTITION_NAMES_H_
#define WORKQUEUE_SHARED_INTERNAL_PARTITION_NAMES_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

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

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_PARTITION_NAMES_H_
