// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/queue_keys.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {
namespace {

// How far a partition's slot may be behind its place, so that a name is found
// soon.
constexpr int kTolerance = 8;

}  // namespace

int ClusterSlotOf(absl::string_view tag) {
  uint32_t crc = 0;
  for (char c : tag) {
    crc ^= static_cast<uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    }
  }
  return static_cast<int>(crc & (kClusterSlots - 1));
}

absl::Status CheckQueueName(absl::string_view name) {
  if (name.empty()) {
    return absl::InvalidArgumentError(
        "name is empty; a shared queue needs one");
  }
  if (name.find_first_of("{}") == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("name is \"", name, "\"; it must not contain '{' or '}'"));
}

std::string PartitionName(absl::string_view name, size_t i, size_t n) {
  if (i == 0) return std::string(name);
  const int place =
      ClusterSlotOf(name) + static_cast<int>(i * kClusterSlots / n);
  for (int attempt = 0;; ++attempt) {
    std::string result = absl::StrCat(name, "/", i, ".", attempt);
    const int behind =
        (ClusterSlotOf(result) - place + 2 * kClusterSlots) % kClusterSlots;
    if (behind < kTolerance) return result;
  }
}

// The 64-bit FNV-1a hash
// (https://datatracker.ietf.org/doc/draft-eastlake-fnv/), and MurmurHash3's
// finalizer, because the last bytes of an item reach only some bits of the
// former.
size_t PartitionOf(absl::string_view item, size_t n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : item) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  hash ^= hash >> 33;
  return static_cast<size_t>(hash % n);
}

}  // namespace workqueue::internal
