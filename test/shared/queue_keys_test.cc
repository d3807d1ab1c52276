// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/queue_keys.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::queue_keys_test {
namespace {

// From the appendix of Redis' cluster specification, and from CLUSTER KEYSLOT.
TEST(PartitionNamesTest, KnowsTheSlotsOfACluster) {
  EXPECT_EQ(ClusterSlotOf("123456789"), 0x31C3);
  EXPECT_EQ(ClusterSlotOf("foo"), 12182);
  EXPECT_EQ(ClusterSlotOf(""), 0);
}

TEST(PartitionNamesTest, TheFirstPartitionHasTheNameOfTheQueue) {
  EXPECT_EQ(PartitionName("pods", 0, 1), "pods");
  EXPECT_EQ(PartitionName("pods", 0, 8), "pods");
}

TEST(PartitionNamesTest, PartitionsAreSpreadOverTheNodes) {
  for (const char* name : {"pods", "orders of the day", "\xff"}) {
    for (const size_t partitions : {2, 3, 6, 12, 64}) {
      std::set<std::string> names;
      std::vector<size_t> slots;
      for (size_t i = 0; i < partitions; ++i) {
        const std::string tag = PartitionName(name, i, partitions);
        EXPECT_TRUE(names.insert(tag).second) << tag;
        slots.push_back(static_cast<size_t>(ClusterSlotOf(tag)));
      }
      for (const size_t nodes : {2, 3, 5}) {
        std::vector<size_t> counts(nodes);
        for (size_t slot : slots) ++counts[slot * nodes / kClusterSlots];
        for (size_t count : counts) {
          // A node's range of slots may end just before a partition.
          EXPECT_LE(count, partitions / nodes + 2) << name << partitions;
          EXPECT_GE(count + 1, partitions / nodes) << name << partitions;
        }
      }
    }
  }
}

TEST(PartitionNamesTest, ItemsAreSpreadOverThePartitions) {
  constexpr int kItems = 10000;
  for (const size_t partitions : {2, 3, 16}) {
    std::vector<int> counts(partitions);
    for (int i = 0; i < kItems; ++i) {
      ++counts[PartitionOf(absl::StrCat("default/web-", i), partitions)];
    }
    const int mean = kItems / static_cast<int>(partitions);
    for (int count : counts) {
      EXPECT_GT(count, mean * 8 / 10);
      EXPECT_LT(count, mean * 12 / 10);
    }
  }
}

// Later versions of this library must find what earlier ones have written.
TEST(PartitionNamesTest, ThePlaceOfAnItemNeverChanges) {
  EXPECT_EQ(PartitionOf("", 1000), 342u);
  EXPECT_EQ(PartitionOf("a", 1000), 315u);
  EXPECT_EQ(PartitionOf("foobar", 1000), 275u);
  EXPECT_EQ(PartitionName("pods", 1, 3), "pods/1.1643");
  EXPECT_EQ(PartitionName("pods", 2, 3), "pods/2.836");
}

}  // namespace
}  // namespace internal::queue_keys_test
}  // namespace workqueue
