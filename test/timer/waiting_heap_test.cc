// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timer/waiting_heap.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/finite_time.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"

namespace workqueue {
namespace internal::waiting_heap_test {
namespace {

using internal::kNoSlabId;
using internal::SlabId;

constexpr absl::Duration kThousandYears = absl::Hours(24 * 365 * 1000);

absl::Time At(int64_t ns) { return absl::FromUnixNanos(ns); }

class WaitingHeapTest : public testing::Test {
 protected:
  void Insert(SlabId id, absl::Time due_at) {
    heap_.Reserve(id, due_at);
    EXPECT_EQ(heap_.Insert(id, due_at, At(0)), due_at);
  }

  SlabId First() { return heap_.Due(absl::InfiniteFuture()); }

  std::vector<SlabId> TakeAll() {
    std::vector<SlabId> ids;
    while (heap_.size() > 0) {
      ids.push_back(First());
      heap_.Remove(ids.back());
    }
    return ids;
  }

  WaitingHeap heap_{At(0), /*first_sequence=*/0xfffffff8};
};

TEST_F(WaitingHeapTest, IsEmptyAtFirst) {
  EXPECT_EQ(heap_.size(), 0u);
  EXPECT_EQ(First(), kNoSlabId);
  EXPECT_EQ(heap_.NextWake(), absl::InfiniteFuture());
}

TEST_F(WaitingHeapTest, IsNeverEarly) {
  Insert(3, At(10) + absl::Nanoseconds(0.25));
  EXPECT_EQ(heap_.NextWake(), At(11));
  EXPECT_EQ(heap_.DueAt(3), At(11));
  EXPECT_EQ(heap_.Due(At(10) + absl::Nanoseconds(0.75)), kNoSlabId);
  EXPECT_EQ(heap_.Due(At(11)), 3u);
}

TEST_F(WaitingHeapTest, InfinitelyLateIsNeverDue) {
  Insert(0, absl::InfiniteFuture());
  EXPECT_EQ(heap_.Due(At(0) + absl::Hours(24 * 365 * 1000)), kNoSlabId);
  EXPECT_EQ(heap_.NextWake(), absl::InfiniteFuture());
  EXPECT_EQ(heap_.DueAt(0), absl::InfiniteFuture());
}

TEST_F(WaitingHeapTest, KnowsWhatWasDueAtTheLastLook) {
  Insert(0, At(10));
  Insert(1, At(5));
  EXPECT_EQ(heap_.KnownDue(), kNoSlabId);
  EXPECT_EQ(heap_.Due(At(7)), 1u);
  EXPECT_EQ(heap_.KnownDue(), 1u);
  EXPECT_EQ(heap_.Due(At(3)),
            kNoSlabId);  // a caller that read the clock earlier
  EXPECT_EQ(heap_.KnownDue(), 1u);
  heap_.Remove(1);
  EXPECT_EQ(heap_.KnownDue(), kNoSlabId);
  Insert(2, At(0));  // is due when it is inserted
  EXPECT_EQ(heap_.KnownDue(), 2u);
}

TEST_F(WaitingHeapTest, KnowsItBeforeTheFirstLook) {
  Insert(0, At(0));
  EXPECT_EQ(heap_.KnownDue(), 0u);
}

TEST_F(WaitingHeapTest, AfterARestartWhatWasDueWaitsAgain) {
  Insert(0, At(10));
  Insert(1, At(20));
  EXPECT_EQ(heap_.Due(At(12)), 0u);
  heap_.Restart(At(9));
  EXPECT_EQ(heap_.KnownDue(), kNoSlabId);
  EXPECT_EQ(heap_.NextWake(), At(10));
  EXPECT_EQ(heap_.Due(At(10)), 0u);
  heap_.Restart(At(-5));
  EXPECT_EQ(heap_.Due(At(9)), kNoSlabId);
  heap_.Restart(At(15));
  EXPECT_EQ(heap_.KnownDue(), 0u);
}

TEST_F(WaitingHeapTest, ARestartKeepsTimesAndOrder) {
  std::mt19937 random(1);
  std::vector<SlabId> ids;
  for (SlabId id = 0; id < 1000; ++id) {
    Insert(id, At(id < 500 ? id / 3 : random() % 300));
    ids.push_back(id);
  }
  for (SlabId id = 0; id < 500; id += 3) {  // leaves holes
    heap_.Remove(id);
    ids[id] = kNoSlabId;
  }
  ids.erase(std::remove(ids.begin(), ids.end(), kNoSlabId), ids.end());
  std::vector<absl::Time> times;
  for (SlabId id : ids) times.push_back(heap_.DueAt(id));
  // A whole number of nanoseconds away, and not.
  for (const absl::Time now :
       {At(1000000), At(-1000000) + absl::Nanoseconds(0.25), At(50)}) {
    heap_.Restart(now);
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(heap_.DueAt(ids[i]), times[i]);
    }
  }
  std::stable_sort(ids.begin(), ids.end(), [this](SlabId a, SlabId b) {
    return heap_.DueAt(a) < heap_.DueAt(b);
  });
  EXPECT_EQ(TakeAll(), ids);
}

TEST_F(WaitingHeapTest, AfterARestartTheTimeCanBeAnywhere) {
  Insert(0, absl::InfiniteFuture());
  for (const absl::Time now : {At(0) + kThousandYears, At(0) - kThousandYears,
                               FiniteTime(absl::InfinitePast()), At(0)}) {
    heap_.Restart(now);
    EXPECT_EQ(heap_.Due(now), kNoSlabId);
    const absl::Time due_at = now + absl::Nanoseconds(1);
    heap_.Reserve(1, due_at);
    heap_.Insert(1, due_at, now);
    EXPECT_EQ(heap_.DueAt(1), due_at);
    EXPECT_EQ(heap_.Due(now), kNoSlabId);
    EXPECT_EQ(heap_.Due(due_at), 1u);
    heap_.Remove(1);
  }
}

// An entry that is due now does not wait for the end of the nanosecond.
TEST_F(WaitingHeapTest, IsNotLateForWhatIsDueNow) {
  const absl::Time now = At(10) + absl::Nanoseconds(0.5);
  heap_.Reserve(0, now);
  heap_.Insert(0, now, now);
  EXPECT_EQ(heap_.Due(now), 0u);
}

// Entries of the same time, of which some are inserted in order and some not.
TEST_F(WaitingHeapTest, EqualTimesComeInTheOrderInWhichTheyWereGiven) {
  Insert(0, At(5));
  for (SlabId id = 1; id < 10; ++id) Insert(id, At(9));
  Insert(10, At(5));  // Too far back to be appended.
  Insert(11, At(9));
  Insert(12, At(5));
  heap_.Move(3, At(5), At(0));
  heap_.Move(0, At(5), At(0));
  heap_.Move(4, At(9), At(0));
  EXPECT_EQ(TakeAll(),
            (std::vector<SlabId>{10, 12, 3, 0, 1, 2, 5, 6, 7, 8, 9, 11, 4}));
}

TEST_F(WaitingHeapTest, EqualTimesKeepTheirOrderWhenNumbersWrapAround) {
  for (SlabId id = 14; id < 20; ++id) Insert(id, At(9));
  for (SlabId id = 0; id < 14; ++id) Insert(id, At(5));
  std::vector<SlabId> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(TakeAll(), expected);
}

// Three in a hundred are due much later than the others, which are due in
// order, and in the opposite order.
TEST_F(WaitingHeapTest, AFewThatAreLateComeLate) {
  std::vector<SlabId> expected, late;
  for (SlabId id = 0; id < 10000; ++id) {
    const bool is_late = id % 100 < 3;
    Insert(id, At(is_late ? int64_t{1000000} - id : id));
    (is_late ? late : expected).push_back(id);
  }
  std::reverse(late.begin(), late.end());
  expected.insert(expected.end(), late.begin(), late.end());
  EXPECT_EQ(TakeAll(), expected);
}

// Some entries are in the ring, with holes, and others in the heap.
TEST_F(WaitingHeapTest, VisitInOrderVisitsTheFirstInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    SlabId id = 0;
    for (; id < 3000; ++id) Insert(id, At(id / 2));
    for (; id < 4000; ++id) Insert(id, At(random() % 3000));
    for (id = 0; id < 4000; ++id) {
      if (static_cast<int>(random() % 20) < round) heap_.Remove(id);
    }
    std::vector<SlabId> all;
    heap_.VisitInOrder([&all](SlabId visited) {
      all.push_back(visited);
      return true;
    });
    std::vector<std::vector<SlabId>> prefixes;
    for (size_t max : {1, 2, 3, 100}) {
      prefixes.emplace_back();
      heap_.VisitInOrder([&prefixes, max](SlabId visited) {
        prefixes.back().push_back(visited);
        return prefixes.back().size() < max;
      });
    }
    EXPECT_EQ(TakeAll(), all);
    size_t i = 0;
    for (size_t max : {1, 2, 3, 100}) {
      const size_t n = std::min(max, all.size());
      EXPECT_EQ(prefixes[i++],
                std::vector<SlabId>(all.begin(), all.begin() + n));
    }
  }
  heap_.VisitInOrder([](SlabId) -> bool {
    ADD_FAILURE() << "there is none";
    return true;
  });
}

TEST_F(WaitingHeapTest, OnlyReserveAllocates) {
  constexpr SlabId kIds = 5000;
  std::mt19937 random(1);
  for (SlabId id = 0; id < kIds; ++id) {
    heap_.Reserve(id, At(id));
    const int64_t before = CountedHeap::allocations;
    heap_.Insert(id, At(id), At(0));
    ASSERT_EQ(CountedHeap::allocations, before);
  }
  const int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 100000; ++i) {
    heap_.Move(random() % kIds, At(static_cast<int64_t>(random() % 10000)),
               At(0));
  }
  EXPECT_EQ(CountedHeap::allocations, before);
}

// After Shrink() there is still room for the entries to move from the ring to
// the heap.
TEST_F(WaitingHeapTest, AfterShrinkMoveDoesNotAllocate) {
  constexpr SlabId kIds = 50000;
  std::mt19937 random(1);
  for (SlabId id = 0; id < kIds; ++id) Insert(id, At(id));
  for (SlabId left = kIds; left > 0; left -= left / 10 + 1) {
    for (SlabId id = left - left / 10 - 1; id < left; ++id) heap_.Remove(id);
    heap_.Shrink(left);
    const int64_t before = CountedHeap::allocations;
    for (SlabId id = 0; id < left - left / 10 - 1; ++id) {
      heap_.Move(id, At(static_cast<int64_t>(random() % kIds)), At(0));
    }
    ASSERT_EQ(CountedHeap::allocations, before);
  }
}

TEST_F(WaitingHeapTest, ARenumberedEntryKeepsItsPlace) {
  Insert(5, At(1));  // These are in order, and those below are not.
  Insert(6, At(2));
  for (SlabId id = 10; id < 20; ++id) Insert(id, At(9));
  Insert(7, At(2));
  Insert(8, At(2));
  heap_.Renumber(8, 0);
  heap_.Renumber(6, 1);
  heap_.Renumber(19, 2);
  EXPECT_EQ(heap_.size(), 14u);
  EXPECT_EQ(heap_.DueAt(0), At(2));
  EXPECT_EQ(heap_.DueAt(1), At(2));
  EXPECT_EQ(heap_.DueAt(2), At(9));
  heap_.Move(2, At(0), At(0));
  heap_.Remove(10);
  EXPECT_EQ(TakeAll(), (std::vector<SlabId>{2, 5, 1, 7, 0, 11, 12, 13, 14, 15,
                                            16, 17, 18}));
}

TEST_F(WaitingHeapTest, ShrinkFreesTheMemoryOfRemovedEntries) {
  constexpr SlabId kIds = 100000;
  for (const bool in_order : {true, false}) {
    const int64_t before = CountedHeap::bytes_in_use;
    for (SlabId id = 0; id < kIds; ++id) {
      Insert(id, At(in_order ? int64_t{id} : -int64_t{id}));
    }
    EXPECT_GT(CountedHeap::bytes_in_use - before, kIds * 20);
    for (SlabId id = 10; id < kIds; ++id) heap_.Remove(id);
    for (int i = 0; i < 3; ++i) heap_.Shrink(10);
    EXPECT_LE(CountedHeap::bytes_in_use - before, 4 * kKeptBytes);
    EXPECT_EQ(TakeAll().size(), 10u);
    heap_.Clear();
  }
}

// A call that moved all entries would make its caller wait. It would have to
// allocate a large block.
TEST_F(WaitingHeapTest, GrowingAndShrinkingMoveFewEntries) {
  for (const bool in_order : {true, false}) {
    CountedHeap::largest_block = 0;
    for (SlabId id = 0; id < 100000; ++id) {
      Insert(id, At(in_order ? int64_t{id} : -int64_t{id}));
    }
    while (heap_.size() > 0) {
      heap_.Remove(heap_.size() - 1);
      heap_.Shrink(heap_.size());
    }
    EXPECT_LE(CountedHeap::largest_block, 64 << 10);
  }
}

TEST_F(WaitingHeapTest, OnceItIsEmptyTheMemoryGoesBack) {
  const int64_t before = CountedHeap::bytes_in_use;
  for (SlabId id = 0; id < 5000; ++id) {
    Insert(id, At(id % 2 == 0 ? id : -int64_t{id}));
  }
  EXPECT_GT(CountedHeap::bytes_in_use - before, 5000 * 20);
  for (SlabId id = 0; id < 5000; ++id) heap_.Remove(id);
  EXPECT_EQ(CountedHeap::bytes_in_use, before);
  Insert(7, At(1));
  EXPECT_EQ(First(), 7u);
}

}  // namespace
}  // namespace internal::waiting_heap_test
}  // namespace workqueue
