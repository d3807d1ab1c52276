// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/internal/sorted_ring.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal::sorted_ring_test {
namespace {

using ::workqueue::CountedHeap;

struct Slot {
  bool operator<(const Slot& other) const { return key < other.key; }

  int key;
  SlabId id;
};

// The index of each slot, by id.
using Places = std::map<SlabId, uint32_t>;

struct SetIndex {
  void operator()(const Slot& slot, uint32_t index) const {
    (*places)[slot.id] = index;
  }
  Places* places;
};

template <uint32_t kIndices>
class SortedRunTestWith : public testing::Test {
 protected:
  void Append(int key, SlabId id) {
    run_.ReserveOne();
    run_.Append({key, id});
  }

  void Remove(SlabId id) {
    run_.Remove(places_.at(id));
    places_.erase(id);
  }

  // Removes all ids, beginning with the first one.
  std::vector<SlabId> TakeAll() {
    std::vector<SlabId> ids;
    while (!run_.empty()) {
      ids.push_back(run_.front().id);
      Remove(ids.back());
    }
    return ids;
  }

  // Appends and removes at random, and compares the ring with a list.
  void BehaveLikeAList();

  Places places_;
  SortedRing<Slot, SetIndex, kIndices> run_{SetIndex{&places_}};
};

using SortedRingTest = SortedRunTestWith<(uint32_t{1} << 31)>;

TEST_F(SortedRingTest, FirstInFirstOut) {
  EXPECT_TRUE(run_.empty());
  for (SlabId id = 0; id < 100; ++id) Append(7, id);
  EXPECT_EQ(run_.size(), 100u);
  EXPECT_EQ(run_.front().id, 0u);
  EXPECT_EQ(run_.back().id, 99u);
  std::vector<SlabId> expected(100);
  for (SlabId id = 0; id < 100; ++id) expected[id] = id;
  EXPECT_EQ(TakeAll(), expected);
  EXPECT_TRUE(run_.empty());
}

TEST_F(SortedRingTest, HolesAtTheEndsAreRemovedAtOnce) {
  for (SlabId id = 0; id < 10; ++id) Append(0, id);
  for (SlabId id : {1, 2, 8}) Remove(id);
  EXPECT_EQ(run_.size(), 7u);
  Remove(0);
  EXPECT_EQ(run_.front().id, 3u);
  Remove(9);
  EXPECT_EQ(run_.back().id, 7u);
  run_.PopBack();
  EXPECT_EQ(run_.back().id, 6u);
  EXPECT_EQ(TakeAll(), (std::vector<SlabId>{3, 4, 5, 6}));
}

TEST_F(SortedRingTest, UpdateAllUpdatesEachSlotButNoHole) {
  for (SlabId id = 0; id < 10; ++id) Append(id, id);
  for (SlabId id : {0, 3, 4, 9}) Remove(id);
  std::vector<SlabId> updated;
  run_.UpdateAll([&updated](Slot& slot) {
    updated.push_back(slot.id);
    slot.key += 100;
  });
  EXPECT_EQ(updated, (std::vector<SlabId>{1, 2, 5, 6, 7, 8}));
  for (const auto& [id, place] : places_) {
    EXPECT_EQ(run_[place].key, 100 + static_cast<int>(id));
  }
}

TEST_F(SortedRingTest, BelongsNearBack) {
  EXPECT_TRUE(run_.BelongsNearBack({5, 9}, 0));
  for (int i = 0; i < 5; ++i) Append(10 * i, i);
  EXPECT_TRUE(run_.BelongsNearBack({40, 9}, 0)) << "it may be equal";
  EXPECT_FALSE(run_.BelongsNearBack({39, 9}, 0));
  EXPECT_TRUE(run_.BelongsNearBack({39, 9}, 1));
  EXPECT_FALSE(run_.BelongsNearBack({29, 9}, 1));
  EXPECT_TRUE(run_.BelongsNearBack({29, 9}, 2));
  EXPECT_FALSE(run_.BelongsNearBack({-1, 9}, 4));
  EXPECT_TRUE(run_.BelongsNearBack({-1, 9}, 5)) << "less than all";
  Remove(3);  // A hole counts as a slot.
  EXPECT_FALSE(run_.BelongsNearBack({25, 9}, 1));
  EXPECT_TRUE(run_.BelongsNearBack({25, 9}, 2));
}

// The segments of slots that have been removed are freed, wherever they are.
TEST_F(SortedRingTest, EmptySegmentsAreFreed) {
  constexpr SlabId kIds = 100000;
  constexpr int64_t kConstant = 48 << 10;
  const int64_t before = CountedHeap::bytes_in_use;
  for (SlabId id = 0; id < kIds; ++id) Append(0, id);
  places_.clear();
  const auto remove = [this](SlabId begin, SlabId end) {
    for (SlabId index = begin; index < end; ++index) run_.Remove(index);
  };
  remove(1, kIds / 2);
  remove(kIds / 2 + 1, kIds - 1);
  EXPECT_EQ(run_.size(), 3u);
  EXPECT_LE(CountedHeap::bytes_in_use - before, kConstant);
  EXPECT_EQ(run_.front().id, 0u);
  run_.PopFront();
  EXPECT_EQ(run_.front().id, kIds / 2);
  run_.PopBack();
  EXPECT_EQ(run_.back().id, kIds / 2);
  EXPECT_EQ(run_.size(), 1u);
}

TEST_F(SortedRingTest, TheListOfSegmentsShrinks) {
  constexpr SlabId kIds = 1200000;
  constexpr int64_t kConstant = 48 << 10;
  const int64_t before = CountedHeap::bytes_in_use;
  for (SlabId id = 0; id < kIds; ++id) Append(0, id);
  places_.clear();
  for (SlabId index = 0; index < kIds - 1; ++index) run_.Remove(index);
  EXPECT_EQ(run_.size(), 1u);
  EXPECT_LE(CountedHeap::bytes_in_use - before, kConstant);
}

TEST_F(SortedRingTest, IsSparseIfMoreThanThreeFourthsAreHoles) {
  constexpr SlabId kIds = 1000;
  EXPECT_FALSE(run_.IsSparse());
  for (SlabId id = 0; id < kIds; ++id) Append(0, id);
  for (SlabId id = 1; id < kIds * 3 / 4 + 1; ++id) {
    EXPECT_FALSE(run_.IsSparse()) << id;
    Remove(id);
  }
  EXPECT_FALSE(run_.IsSparse());
  Remove(kIds - 2);
  EXPECT_TRUE(run_.IsSparse());
  run_.PopFront();
  EXPECT_FALSE(run_.IsSparse()) << "the holes at the front are gone";
}

// A call that moves many slots must allocate a large block.
TEST_F(SortedRingTest, GrowsWithoutALargeBlock) {
  for (SlabId id = 0; id < 100000; ++id) places_[id] = 0;
  CountedHeap::largest_block = 0;
  for (SlabId id = 0; id < 100000; ++id) Append(0, id);
  EXPECT_LE(CountedHeap::largest_block, 8192);
}

// The queue has an almost constant size.
TEST_F(SortedRingTest, AllocatesNothingInTheSteadyState) {
  for (const SlabId size : {1, 100, 5000}) {
    std::vector<uint32_t> index(4 * size);
    for (SlabId id = 0; id < size; ++id) Append(0, id);
    for (int warm_up = 1; warm_up >= 0; --warm_up) {
      const int64_t before = CountedHeap::allocations;
      for (SlabId i = 0; i < 20000; ++i) {
        run_.ReserveOne();
        run_.Append({0, 0});
        run_.PopFront();
      }
      if (warm_up == 0) {
        EXPECT_EQ(CountedHeap::allocations, before);
      }
    }
    run_.Clear();
    places_.clear();
  }
}

TEST_F(SortedRingTest, AnAppendAfterReserveOneAllocatesNothing) {
  for (SlabId id = 0; id < 1000; ++id) places_[id] = 0;
  for (SlabId id = 0; id < 1000; ++id) {
    run_.ReserveOne();
    ASSERT_TRUE(run_.HasRoom());
    const int64_t before = CountedHeap::allocations;
    run_.Append({0, id});
    ASSERT_EQ(CountedHeap::allocations, before);
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(SortedRingTest, IsUnchangedIfThereIsNoMemory) {
  for (SlabId id = 0; run_.empty() || run_.HasRoom(); ++id) Append(0, id);
  const size_t size = run_.size();
  CountedHeap::exhausted = true;
  EXPECT_THROW(run_.ReserveOne(), std::bad_alloc);
  CountedHeap::exhausted = false;
  EXPECT_FALSE(run_.HasRoom());
  run_.ReserveOne();
  EXPECT_TRUE(run_.HasRoom());
  EXPECT_EQ(TakeAll().size(), size);
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST_F(SortedRingTest, ReplaceKeepsThePlace) {
  for (SlabId id = 0; id < 5; ++id) Append(0, id);
  run_.Replace(places_.at(2), {0, 9});
  places_.erase(2);
  EXPECT_EQ(TakeAll(), (std::vector<SlabId>{0, 1, 9, 3, 4}));
}

TEST_F(SortedRingTest, ClearGivesBackTheMemoryAndItGoesOn) {
  const int64_t before = CountedHeap::bytes_in_use;
  for (int round = 0; round < 3; ++round) {
    for (SlabId id = 0; id < 100; ++id) Append(0, id);
    run_.Clear();
    places_.clear();
    EXPECT_TRUE(run_.empty());
    EXPECT_EQ(CountedHeap::bytes_in_use, before);
  }
}

template <uint32_t kIndices>
void SortedRunTestWith<kIndices>::BehaveLikeAList() {
  std::mt19937 random(1);
  std::vector<Slot> model;
  int key = 0;
  SlabId next = 0;
  for (int i = 0; i < 50000; ++i) {
    // Mostly appends and mostly removes, in turn.
    const unsigned remove = i / 5000 % 2 == 0 ? 4 : 6;
    run_.ReserveOne();
    if (model.empty() || (run_.HasRoom() && random() % 10 >= remove)) {
      key += static_cast<int>(random() % 2);
      Append(key, next);
      model.push_back({key, next++});
    } else {
      const auto it = random() % 2 == 0
                          ? model.begin()
                          : model.begin() + random() % model.size();
      Remove(it->id);
      model.erase(it);
    }
    ASSERT_EQ(run_.size(), model.size());
    ASSERT_EQ(run_.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(run_.front().id, model.front().id);
    ASSERT_EQ(run_.back().id, model.back().id);
    if (i % 100 != 0) continue;
    for (const Slot& slot : model) {
      ASSERT_LT(places_.at(slot.id), kIndices);
      ASSERT_EQ(run_[places_.at(slot.id)].id, slot.id);
      ASSERT_EQ(run_[places_.at(slot.id)].key, slot.key);
    }
  }
}

TEST_F(SortedRingTest, BehavesLikeAList) { BehaveLikeAList(); }

// So few indices that they wrap around soon.
using FewIndicesTest = SortedRunTestWith<128>;

TEST_F(FewIndicesTest, IndicesWrapAround) { BehaveLikeAList(); }

TEST_F(FewIndicesTest, UsesAtMostHalfOfTheIndices) {
  for (SlabId id = 0; id < 64; ++id) Append(0, id);
  run_.ReserveOne();
  EXPECT_FALSE(run_.HasRoom());
  for (SlabId id = 0; id < 48; ++id) Remove(id);
  run_.ReserveOne();
  EXPECT_TRUE(run_.HasRoom());
}

}  // namespace
}  // namespace internal::sorted_ring_test
}  // namespace workqueue
