// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/hash_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal::hash_index_test {
namespace {

using ::workqueue::CountedHeap;

constexpr uint32_t kLastHash = std::numeric_limits<uint32_t>::max();

// A table and its expected contents.
class Pair {
 public:
  void Insert(uint32_t hash, SlabId id) {
    const HashIndex::Position position = Find(hash, id);
    ASSERT_EQ(position.found, ids_.count({hash, id}) > 0);
    if (position.found) return;
    table_.Insert(table_.PrepareInsert(hash, position), hash, id);
    ids_[{hash, id}] = true;
    ASSERT_EQ(table_.size(), ids_.size());
  }

  void Erase(uint32_t hash, SlabId id) {
    const HashIndex::Position position = Find(hash, id);
    ASSERT_EQ(position.found, ids_.erase({hash, id}) > 0);
    if (position.found) table_.Erase(position);
    ASSERT_EQ(table_.size(), ids_.size());
  }

  void Clear() {
    table_.Clear();
    ids_.clear();
    ASSERT_EQ(table_.size(), 0u);
  }

  void ExpectAllThere() const {
    for (const auto& one : ids_) {
      const auto& [hash, id] = one.first;
      const HashIndex::Position position = Find(hash, id);
      ASSERT_TRUE(position.found) << hash << ", " << id;
      ASSERT_EQ(table_[position], id);
    }
  }

  const HashIndex& table() const { return table_; }
  std::map<std::pair<uint32_t, SlabId>, bool>& ids() { return ids_; }

 private:
  HashIndex::Position Find(uint32_t hash, SlabId id) const {
    return table_.Find(hash, [id](SlabId other) { return other == id; });
  }

  HashIndex table_;
  std::map<std::pair<uint32_t, SlabId>, bool> ids_;
};

TEST(HashIndexTest, IsEmptyAtFirst) {
  const HashIndex table;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.Find(0, [](SlabId) { return true; }).found);
  EXPECT_FALSE(table.Find(kLastHash, [](SlabId) { return true; }).found);
}

TEST(HashIndexTest, ShowsOnlyIdsOfTheHash) {
  Pair pair;
  for (uint32_t i = 0; i < 1000; ++i) pair.Insert(i / 10 * 1000, i);
  std::vector<SlabId> seen;
  pair.table().Find(5000, [&seen](SlabId id) {
    seen.push_back(id);
    return false;
  });
  EXPECT_EQ(seen,
            (std::vector<SlabId>{50, 51, 52, 53, 54, 55, 56, 57, 58, 59}));
}

TEST(HashIndexTest, TheTableCanBeUsedAfterClear) {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    for (SlabId id = 0; id < 100; ++id) pair.Insert(id << 20, id);
    pair.Clear();
  }
}

TEST(HashIndexTest, ReplaceChangesAnId) {
  HashIndex table;
  const auto is = [](SlabId id) {
    return [id](SlabId other) { return other == id; };
  };
  for (SlabId id = 0; id < 3; ++id) {
    table.Insert(table.PrepareInsert(7, table.Find(7, is(id))), 7, id);
  }
  table.Replace(table.Find(7, is(1)), 9);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_FALSE(table.Find(7, is(1)).found);
  for (SlabId id : {0, 2, 9}) {
    const HashIndex::Position position = table.Find(7, is(id));
    ASSERT_TRUE(position.found) << id;
    EXPECT_EQ(table[position], id);
  }
}

TEST(HashIndexTest, SupportsTheLargestHash) {
  Pair pair;
  for (SlabId id = 0; id < 1000; ++id) pair.Insert(kLastHash, id);
  pair.ExpectAllThere();
  for (SlabId id = 0; id < 1000; id += 2) pair.Erase(kLastHash, id);
  pair.ExpectAllThere();
}

TEST(HashIndexTest, SupportsTheLargestHashWhenItShrinks) {
  constexpr SlabId kLast = 100, kOthers = 200000;
  Pair pair;
  for (SlabId id = 0; id < kLast; ++id) pair.Insert(kLastHash, id);
  const auto spread = [](SlabId id) { return id * 2654435761u; };
  for (SlabId id = 0; id < kOthers; ++id) pair.Insert(spread(id), kLast + id);
  for (SlabId id = 0; id < kOthers; ++id) pair.Erase(spread(id), kLast + id);
  pair.ExpectAllThere();
}

// The parameter selects the kind of hash: spread, all equal, near each other,
// or at both ends.
class HashIndexModelTest : public testing::TestWithParam<int> {
 protected:
  uint32_t RandomHash() {
    const uint32_t any = random_();
    switch (GetParam()) {
      case 0:
        return any;
      case 1:
        return any % 3;
      case 2:
        return kLastHash - any % 50;
      case 3:
        return 1000000000 + any % 1000;
      default:
        return any % 2 == 0 ? any % 100 * 0x01010101 : any;
    }
  }

  std::mt19937 random_{1};
};

INSTANTIATE_TEST_SUITE_P(Hashes, HashIndexModelTest, testing::Range(0, 5));

TEST_P(HashIndexModelTest, BehavesLikeAMap) {
  Pair pair;
  for (const int most : {20, 1000, 0, 300, 3000, 10, 100}) {
    while (static_cast<int>(pair.ids().size()) < most) {
      pair.Insert(RandomHash(), random_() % 50000);
      if (random_() % 3 == 0) pair.Erase(RandomHash(), random_() % 50000);
    }
    pair.ExpectAllThere();
    while (static_cast<int>(pair.ids().size()) > most) {
      auto it = pair.ids().lower_bound({RandomHash(), random_() % 50000});
      if (it == pair.ids().end()) it = pair.ids().begin();
      const auto [hash, id] = it->first;
      pair.Erase(hash, id);
    }
    pair.ExpectAllThere();
  }
}

TEST(HashIndexMemoryTest, UsesTenToFifteenBytesPerEntryAndFreesThem) {
  std::mt19937 random(1);
  const int64_t before = CountedHeap::bytes_in_use;
  HashIndex table;
  std::vector<uint32_t> hashes;
  hashes.reserve(500000);
  const auto id_is = [](SlabId id) {
    return [id](SlabId other) { return other == id; };
  };
  const int64_t for_hashes = CountedHeap::bytes_in_use - before;
  const auto bytes = [&] {
    return CountedHeap::bytes_in_use - before - for_hashes;
  };
  for (SlabId id = 0; id < 500000; ++id) {
    hashes.push_back(random());
    const HashIndex::Position position = table.Find(hashes[id], id_is(id));
    table.Insert(table.PrepareInsert(hashes[id], position), hashes[id], id);
    if (id >= 10000) {
      ASSERT_LE(bytes(), 15.5 * (id + 1));
      ASSERT_GE(bytes(), 10 * (id + 1));
    }
  }
  constexpr int64_t kKept = 64 << 10;
  for (SlabId id = 0; id < 500000; ++id) {
    table.Erase(table.Find(hashes[id], id_is(id)));
    ASSERT_LE(bytes(), kKept + 27 * int64_t{500000 - id});
  }
  table.Clear();
  EXPECT_EQ(bytes(), 0);
}

// A call that moves many ids must allocate a large block, or many blocks.
TEST(HashIndexMemoryTest, NoCallMovesManyIds) {
  constexpr SlabId kIds = 1000000;
  constexpr int64_t kLargest = 96 << 10;
  constexpr int64_t kMostBlocks = 12;
  std::mt19937 random(1);
  std::vector<uint32_t> hashes(kIds);
  for (uint32_t& hash : hashes) hash = random();
  HashIndex table;
  CountedHeap::largest_block = 0;
  for (SlabId id = 0; id < kIds; ++id) {
    const int64_t before = CountedHeap::allocations;
    const HashIndex::Position position =
        table.Find(hashes[id], [](SlabId) { return false; });
    table.Insert(table.PrepareInsert(hashes[id], position), hashes[id], id);
    ASSERT_LE(CountedHeap::allocations, before + kMostBlocks) << id;
  }
  for (SlabId id = 0; id < kIds; ++id) {
    const int64_t before = CountedHeap::allocations;
    table.Erase(table.Find(hashes[id], [id](SlabId o) { return o == id; }));
    ASSERT_LE(CountedHeap::allocations, before + kMostBlocks) << id;
  }
  EXPECT_LE(CountedHeap::largest_block, kLargest);
}

TEST(HashIndexMemoryTest, TheListOfSegmentsShrinks) {
  constexpr SlabId kIds = 1500000;
  constexpr int64_t kConstant = 96 << 10;
  const int64_t before = CountedHeap::bytes_in_use;
  HashIndex table;
  // A multiple of an odd number distinguishes all ids.
  const auto hash_of = [](SlabId id) { return id * 0x9e3779b1u; };
  for (SlabId id = 0; id < kIds; ++id) {
    const uint32_t hash = hash_of(id);
    const HashIndex::Position position =
        table.Find(hash, [](SlabId) { return false; });
    table.Insert(table.PrepareInsert(hash, position), hash, id);
  }
  for (SlabId id = 1; id < kIds; ++id) {
    table.Erase(table.Find(hash_of(id), [id](SlabId o) { return o == id; }));
  }
  EXPECT_EQ(table.size(), 1u);
  EXPECT_LE(CountedHeap::bytes_in_use - before, kConstant);
}

TEST(HashIndexMemoryTest, IsUnchangedIfAnAllocationFails) {
#ifdef ABSL_HAVE_EXCEPTIONS
  std::mt19937 random(1);
  HashIndex table;
  std::vector<uint32_t> hashes;
  hashes.reserve(5000);
  int failures = 0;
  for (SlabId id = 0; id < 5000; ++id) {
    const uint32_t hash = random();
    const HashIndex::Position position =
        table.Find(hash, [](SlabId) { return false; });
    HashIndex::InsertPosition insert_at;
    CountedHeap::exhausted = true;
    try {
      insert_at = table.PrepareInsert(hash, position);
    } catch (const std::bad_alloc&) {
      ++failures;
      CountedHeap::exhausted = false;
      ASSERT_EQ(table.size(), id);
      for (SlabId i = 0; i < id; ++i) {
        const auto found =
            table.Find(hashes[i], [i](SlabId o) { return o == i; });
        ASSERT_TRUE(found.found);
      }
      insert_at = table.PrepareInsert(hash, position);
    }
    CountedHeap::exhausted = false;
    table.Insert(insert_at, hash, id);
    hashes.push_back(hash);
  }
  EXPECT_GT(failures, 5);
  CountedHeap::exhausted = true;
  for (SlabId id = 0; id < 5000; ++id) {
    table.Erase(table.Find(hashes[id], [id](SlabId o) { return o == id; }));
  }
  CountedHeap::exhausted = false;
  EXPECT_EQ(table.size(), 0u);
#endif
}

}  // namespace
}  // namespace internal::hash_index_test
}  // namespace workqueue
