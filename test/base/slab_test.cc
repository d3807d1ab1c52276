// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/slab.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/base/fragile_key.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/segmented_array.h"

namespace workqueue {
namespace internal::slab_test {
namespace {

using ::workqueue::Blows;
using ::workqueue::CountedHeap;
using ::workqueue::FragileKey;
using ::workqueue::FragileOp;
using ::workqueue::Fuse;

using Shared = std::shared_ptr<int>;

// Makes an object and returns its id.
template <typename E, SlabId max, typename... Args>
SlabId New(Slab<E, max>& slab, Args&&... args) {
  const SlabId id = slab.NextId();
  EXPECT_EQ(slab.Find(id), nullptr);
  EXPECT_EQ(slab.New(std::forward<Args>(args)...), &slab[id]);
  return id;
}

TEST(SlabTest, FindsAnObjectUntilItIsDeleted) {
  Slab<Shared> slab;
  const Shared value = std::make_shared<int>(1);
  const SlabId id = New(slab, value);
  EXPECT_EQ(slab[id], value);
  EXPECT_EQ(slab.Find(id), &slab[id]);
  EXPECT_EQ(slab.size(), 1u);
  slab.Delete(id);
  EXPECT_EQ(slab.Find(id), nullptr);
  EXPECT_EQ(slab.size(), 0u);
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SlabTest, FindsNothingInAnEmptyOne) {
  Slab<int> slab;
  EXPECT_EQ(slab.Find(0), nullptr);
  EXPECT_EQ(slab.Find(kNoSlabId), nullptr);
}

TEST(SlabTest, AllocatesNoMoreThanDocumented) {
  Slab<int> slab;
  const SlabId id = slab.NextId();
  EXPECT_EQ(slab.NextId(), id);
  EXPECT_EQ(slab.size(), 0u);
  slab.New(1);
  EXPECT_NE(slab.NextId(), id);
}

TEST(SlabTest, ConsecutiveObjectsAreNeighboursInMemory) {
  Slab<int64_t> slab;
  int64_t* last = slab.New(0);
  int apart = 0;
  for (int i = 1; i < 6400; ++i) {
    int64_t* const next = slab.New(i);
    apart += next != last + 1;
    last = next;
  }
  EXPECT_LE(apart, 100);
}

TEST(SlabTest, IdsAreReusedAndStaySmall) {
  Slab<int> slab;
  std::vector<SlabId> ids;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(New(slab, i));
    EXPECT_LT(ids.back(), 1024u);
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = round; i < 1000; i += 3) slab.Delete(ids[i]);
    for (int i = round; i < 1000; i += 3) {
      ids[i] = New(slab, i);
      EXPECT_LT(ids[i], 1024u);
    }
  }
  // So that it also holds after a spike.
  for (int i = 0; i < 50000; ++i) ids.push_back(New(slab, i));
  for (SlabId id : ids) slab.Delete(id);
  EXPECT_LT(slab.NextId(), 1024u);
}

TEST(SlabTest, SupportsLargeObjects) {
  struct Large {
    explicit Large(int v) : value(v) {}
    int value;
    alignas(64) char rest[5000] = {};
  };
  Slab<Large> slab;
  std::vector<SlabId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(New(slab, i));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(slab[ids[i]].value, i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&slab[ids[i]]) % 64, 0u);
  }
}

TEST(SlabTest, ForEachVisitsAllAndMayDelete) {
  Slab<int> slab;
  std::map<int*, SlabId> ids;
  for (int i = 0; i < 1000; ++i) {
    const SlabId id = New(slab, i);
    ids[&slab[id]] = id;
  }
  int sum = 0;
  slab.ForEach([&](int* object) {
    sum += *object;
    if (*object % 2 == 0) slab.Delete(ids[object]);
  });
  EXPECT_EQ(sum, 999 * 1000 / 2);
  EXPECT_EQ(slab.size(), 500u);
  slab.ForEach([&](int* object) {
    EXPECT_EQ(*object % 2, 1);
    slab.Delete(ids[object]);
  });
  EXPECT_EQ(slab.size(), 0u);
}

TEST(SlabTest, TheDestructorDestroysTheRemainingObjects) {
  const Shared value = std::make_shared<int>(1);
  {
    Slab<Shared> slab;
    for (int i = 0; i < 100; ++i) New(slab, value);
    slab.Delete(7);
    EXPECT_EQ(value.use_count(), 100);
    slab.Clear();
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_EQ(slab.size(), 0u);
    EXPECT_EQ(slab.Find(8), nullptr);
    New(slab, value);
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SlabTest, BehavesLikeAMap) {
  for (int seed : {1, 2, 3}) {
    std::mt19937 random(seed);
    Slab<Shared> slab;
    std::map<SlabId, std::pair<Shared*, int>> model;
    for (int i = 0; i < 30000; ++i) {
      // The slab grows and shrinks in turn.
      if (static_cast<int>(random() % 5) > 1 + i / 3000 % 2) {
        const SlabId id = New(slab, std::make_shared<int>(i));
        ASSERT_TRUE(model.emplace(id, std::make_pair(&slab[id], i)).second);
      } else if (!model.empty()) {
        auto it = model.lower_bound(random() % 1000);
        if (it == model.end()) it = model.begin();
        slab.Delete(it->first);
        ASSERT_EQ(slab.Find(it->first), nullptr);
        model.erase(it);
      }
      ASSERT_EQ(slab.size(), model.size());
      if (i % 100 != 0) continue;
      std::set<Shared*> visited;
      slab.ForEach([&visited](Shared* object) {
        EXPECT_TRUE(visited.insert(object).second);
      });
      ASSERT_EQ(visited.size(), model.size());
      for (const auto& [id, object] : model) {
        ASSERT_EQ(slab.Find(id), object.first);
        ASSERT_EQ(*slab[id], object.second);
      }
    }
  }
}

// -----------------------------------------------------------------------------
// Memory
// -----------------------------------------------------------------------------

// Makes `n` objects and destroys them in the same order.
void FillAndEmpty(Slab<int>& slab, int n) {
  std::vector<SlabId> ids;
  ids.reserve(n);
  for (int i = 0; i < n; ++i) ids.push_back(New(slab, i));
  for (SlabId id : ids) slab.Delete(id);
}

TEST(SlabTest, AllocatesNothingInTheSteadyState) {
  Slab<int> slab;
  FillAndEmpty(slab, 100);
  int64_t before = CountedHeap::allocations;
  for (int i = 0; i < 1000; ++i) slab.Delete(New(slab, i));
  EXPECT_EQ(CountedHeap::allocations, before);
  // Many objects, some of which come and go.
  for (int i = 0; i < 10000; ++i) New(slab, i);
  FillAndEmpty(slab, 200);
  before = CountedHeap::allocations;
  FillAndEmpty(slab, 200);
  EXPECT_LE(CountedHeap::allocations - before, 1) << "that of the ids here";
}

TEST(SlabTest, FreesUnusedMemory) {
  Slab<int> slab;
  std::vector<SlabId> ids;
  const int64_t before = CountedHeap::bytes_in_use;
  for (int i = 0; i < 100000; ++i) ids.push_back(New(slab, i));
  const int64_t ids_bytes =
      static_cast<int64_t>(ids.capacity() * sizeof(ids[0]));
  const auto bytes = [&] {
    return CountedHeap::bytes_in_use - before - ids_bytes;
  };
  const int64_t full = bytes();
  EXPECT_GT(full, 400000);
  EXPECT_LT(full, 600000);
  for (int i = 0; i < 90000; ++i) slab.Delete(ids[i]);
  EXPECT_LT(bytes(), full / 4);
  for (int i = 90000; i < 100000; ++i) slab.Delete(ids[i]);
  EXPECT_LT(bytes(), 4000);
}

TEST(SlabTest, IdsBecomeSmallAgainOnceTheObjectsOfAPeakAreGone) {
  Slab<int> slab;
  const int64_t before = CountedHeap::bytes_in_use;
  std::deque<SlabId> ids;
  for (int i = 0; i < 100000; ++i) ids.push_back(New(slab, i));
  // Objects come and go, and some always remain.
  while (ids.size() > 100) {
    slab.Delete(ids.front());
    ids.pop_front();
  }
  for (int i = 0; i < 1000; ++i) {
    slab.Delete(ids.front());
    ids.pop_front();
    ids.push_back(New(slab, i));
  }
  EXPECT_LE(slab.id_limit(), 512u);
  EXPECT_LE(CountedHeap::bytes_in_use - before, 3 * kKeptBytes);
}

// -----------------------------------------------------------------------------
// Moving objects to smaller ids
// -----------------------------------------------------------------------------

// A slab and its owner, who moves objects.
class Owner {
 public:
  void Make(int value) {
    const SlabId id = slab_.NextId();
    slab_.New(value);
    ASSERT_TRUE(ids_.emplace(value, id).second);
  }

  void Delete(int value) {
    const auto it = ids_.find(value);
    ASSERT_EQ(slab_[it->second], value);
    slab_.Delete(it->second);
    ids_.erase(it);
    slab_.CompactIfDue([this](SlabId from) { Move(from); });
  }

  void Check() {
    ASSERT_EQ(slab_.size(), ids_.size());
    for (const auto& [value, id] : ids_) ASSERT_EQ(slab_[id], value);
  }

  // A value that stays where it is.
  int pinned = -1;
  int moves = 0;

  Slab<int>& slab() { return slab_; }
  const std::map<int, SlabId>& ids() const { return ids_; }

 private:
  void Move(SlabId from) {
    const int value = slab_[from];
    if (value == pinned) return;
    const SlabId to = slab_.NextId();
    ASSERT_LT(to, from);
    const int64_t before = CountedHeap::allocations;
    slab_.New(value);
    EXPECT_EQ(CountedHeap::allocations, before);
    slab_.Delete(from);
    ids_[value] = to;
    ++moves;
  }

  Slab<int> slab_;
  std::map<int, SlabId> ids_;  // by value
};

constexpr int kPeak = 100000;

// Of the objects of a peak, the first ones remain, the last ones, or some that
// are scattered.
TEST(SlabMoveTest, AtMostAFifthOfTheIdsIsUnusedAfterAPeak) {
  for (const int n : {1, 10, 1000, 5000}) {
    for (const char* which : {"first", "last", "scattered"}) {
      SCOPED_TRACE(testing::Message() << "the " << which << " " << n);
      const auto remains = [&](int value) {
        return *which == 'f'   ? value < n
               : *which == 'l' ? value >= kPeak - n
                               : value % (kPeak / n) == 0;
      };
      Owner owner;
      for (int value = 0; value < kPeak; ++value) owner.Make(value);
      for (int value = 0; value < kPeak; ++value) {
        if (!remains(value)) owner.Delete(value);
      }
      owner.Check();
      ASSERT_EQ(owner.slab().size(), static_cast<size_t>(n));
      for (int i = 0; i < 32 * n + 500; ++i) {
        owner.Make(kPeak);
        owner.Delete(kPeak);
      }
      EXPECT_LE(owner.slab().id_limit(), static_cast<size_t>(n + n / 4 + 320));
      owner.Check();
      // Now nothing moves any more.
      owner.moves = 0;
      for (int i = 0; i < 1000; ++i) {
        owner.Make(kPeak);
        owner.Delete(kPeak);
      }
      EXPECT_EQ(owner.moves, 0);
    }
  }
}

TEST(SlabMoveTest, FewObjectsMoveWhileOthersAreDeleted) {
  for (const bool in_order : {true, false}) {
    Owner owner;
    std::vector<int> values(kPeak);
    std::iota(values.begin(), values.end(), 0);
    for (int value : values) owner.Make(value);
    if (!in_order) std::shuffle(values.begin(), values.end(), std::mt19937());
    for (int value : values) owner.Delete(value);
    EXPECT_LE(owner.moves, kPeak / 32 / 10);
    EXPECT_GT(owner.moves, 0);
  }
}

TEST(SlabMoveTest, AnObjectThatMayNotMoveDoesNotKeepOthersFromMoving) {
  Owner owner;
  owner.pinned = kPeak - 1;
  for (int value = 0; value < kPeak; ++value) owner.Make(value);
  for (int value = 0; value < kPeak - 1; ++value) {
    if (value % 100 > 0) owner.Delete(value);
  }
  for (int i = 0; i < kPeak; ++i) {
    owner.Make(kPeak);
    owner.Delete(kPeak);
  }
  size_t large = 0;
  for (const auto& [value, id] : owner.ids()) large += id >= 2000;
  EXPECT_EQ(large, 1u);
  owner.Check();
}

TEST(SlabMoveTest, BehavesLikeAMap) {
  std::mt19937 random(1);
  Owner owner;
  int next = 0;
  for (const int most : {20000, 1000, 5000, 10, 30000, 3000, 0}) {
    while (static_cast<int>(owner.ids().size()) < most) {
      owner.Make(next++);
      if (random() % 3 == 0) {
        owner.Delete(owner.ids().lower_bound(random() % next)->first);
      }
    }
    while (static_cast<int>(owner.ids().size()) > most) {
      auto it = owner.ids().lower_bound(random() % next);
      if (it == owner.ids().end()) it = owner.ids().begin();
      owner.Delete(it->first);
      if (random() % 3 == 0) owner.Make(next++);
    }
    ASSERT_NO_FATAL_FAILURE(owner.Check());
  }
  EXPECT_GT(owner.moves, 100);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// The memory to which an object would move, and that of a smaller directory.
TEST(SlabMoveTest, NothingMovesWithoutMemory) {
  Slab<int> slab;
  for (int i = 0; i < kPeak; ++i) slab.New(i);
  CountedHeap::exhausted = true;
  for (SlabId id = 0; id < kPeak - 10; ++id) {
    slab.Delete(id);
    slab.CompactIfDue([&slab](SlabId from) {
      const int64_t before = CountedHeap::allocations;
      EXPECT_LT(slab.NextId(), from);
      EXPECT_EQ(CountedHeap::allocations, before);
    });
  }
  CountedHeap::exhausted = false;
  EXPECT_EQ(slab.size(), 10u);
  for (SlabId id = kPeak - 10; id < kPeak; ++id) {
    EXPECT_EQ(slab[id], static_cast<int>(id));
  }
}

// -----------------------------------------------------------------------------
// Objects that are kept
// -----------------------------------------------------------------------------

// Keeps its memory if its value is less than 100.
class Keeper {
 public:
  explicit Keeper(int value) : value_(value) { ++made; }
  Keeper(Keeper&& other) noexcept : value_(other.value_) { ++made; }
  ~Keeper() { ++destroyed; }

  bool KeepForReuse() const { return value_ < 100; }
  void Reuse(int value) {
    if (value < 0) ThrowBadAlloc();
    value_ = value;
    ++reused;
  }

  int value() const { return value_; }

  static inline int made, destroyed, reused;

 private:
  int value_;
};

class SlabReuseTest : public testing::Test {
 protected:
  SlabReuseTest() { Keeper::made = Keeper::destroyed = Keeper::reused = 0; }
  ~SlabReuseTest() override {
    slab_.Clear();
    EXPECT_EQ(Keeper::made, Keeper::destroyed);
  }

  Slab<Keeper> slab_;
};

TEST_F(SlabReuseTest, ANewObjectReusesTheOneThatWasInItsPlace) {
  const SlabId id = New(slab_, 1);
  slab_.Delete(id);
  EXPECT_EQ(slab_.Find(id), nullptr);
  EXPECT_EQ(Keeper::destroyed, 0);
  EXPECT_EQ(New(slab_, 2), id);
  EXPECT_EQ(slab_[id].value(), 2);
  EXPECT_EQ(Keeper::made, 1);
  EXPECT_EQ(Keeper::reused, 1);
}

TEST_F(SlabReuseTest, AnObjectThatNeedNotBeKeptIsDestroyed) {
  slab_.Delete(New(slab_, 100));
  EXPECT_EQ(Keeper::destroyed, 1);
  New(slab_, 1);
  EXPECT_EQ(Keeper::reused, 0);
}

TEST_F(SlabReuseTest, AMoveDestroysTheObjectsInBothPlaces) {
  const SlabId first = New(slab_, 1);
  const SlabId second = New(slab_, 2);
  slab_.Delete(first);
  EXPECT_EQ(slab_.NextId(), first);
  EXPECT_EQ(slab_.Move(second)->value(), 2);
  EXPECT_EQ(slab_[first].value(), 2);
  EXPECT_EQ(slab_.size(), 1u);
  EXPECT_EQ(Keeper::destroyed, 2);  // An object that was moved is not kept.
  EXPECT_EQ(Keeper::reused, 0);
}

TEST_F(SlabReuseTest, KeptObjectsAreDestroyedWithTheirStorage) {
  constexpr int kPeak = 100000;
  for (SlabId id = 0; id < kPeak; ++id) EXPECT_EQ(New(slab_, 1), id);
  for (SlabId id = kPeak - 1; id > 0; --id) slab_.Delete(id);
  EXPECT_GT(Keeper::destroyed, kPeak - 6 * 64);
}

TEST_F(SlabReuseTest, NothingIsKeptWhileThereAreManyChunks) {
  for (SlabId id = 0; id < 1000; ++id) EXPECT_EQ(New(slab_, 1), id);
  slab_.Delete(5);
  EXPECT_EQ(Keeper::destroyed, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(SlabReuseTest, AReuseThatThrowsChangesNothing) {
  const SlabId id = New(slab_, 1);
  slab_.Delete(id);
  EXPECT_THROW(slab_.New(-1), std::bad_alloc);
  EXPECT_EQ(slab_.size(), 0u);
  EXPECT_EQ(New(slab_, 2), id);
  EXPECT_EQ(Keeper::made, 1);
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST(SlabTest, AThrowingConstructorChangesNothing) {
  Slab<FragileKey> slab;
  const FragileKey key(1);
  for (int i = 0; i < 200; ++i) {
    const SlabId id = slab.NextId();
    Fuse::Arm(FragileOp::kCopy, 1);
    ASSERT_TRUE(Blows([&] { slab.New(key); }));
    ASSERT_EQ(slab.size(), static_cast<size_t>(i));
    ASSERT_EQ(slab.Find(id), nullptr);
    ASSERT_EQ(New(slab, key), id);
  }
}

TEST(SlabTest, AFailedAllocationChangesNothing) {
  Slab<int> slab;
  int failed = 0;
  for (int i = 0; i < 1000; ++i) {
    CountedHeap::exhausted = true;
    try {
      slab.NextId();
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    CountedHeap::exhausted = false;
    ASSERT_EQ(slab.size(), static_cast<size_t>(i));
    New(slab, i);
  }
  EXPECT_GT(failed, 10);
}

TEST(SlabTest, RespectsTheLimitOfIds) {
  Slab<int, 200> slab;
  for (int i = 0; i < 192; ++i) New(slab, i);
  EXPECT_THROW(slab.NextId(), std::bad_alloc);
  EXPECT_THROW(slab.New(1), std::bad_alloc);
  EXPECT_EQ(slab.size(), 192u);
  slab.Delete(77);
  EXPECT_EQ(New(slab, 1), 77u);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::slab_test
}  // namespace workqueue
