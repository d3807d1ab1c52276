// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/slot_map.h"

#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/hash/hash_testing.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/base/fragile_key.h"

namespace workqueue {
namespace internal::slot_map_test {
namespace {

using ::workqueue::Blows;
using ::workqueue::CountedHeap;
using ::workqueue::FragileKey;
using ::workqueue::FragileOp;
using ::workqueue::Fuse;

using TestHandle = Handle<struct TestTag>;

struct Entry : SlotMapEntry {
  explicit Entry(std::shared_ptr<int> v) : value(std::move(v)) {}

  std::shared_ptr<int> value;
};

using Table = SlotMap<Entry, TestTag>;

TEST(SlotMapTest, AHandleNamesItsObjectUntilItIsGone) {
  Table table;
  const auto value = std::make_shared<int>(1);
  Entry* const entry = table.New(value);
  const TestHandle handle = table.HandleOf(entry);
  EXPECT_TRUE(handle);
  EXPECT_EQ(table.Find(handle), entry);
  EXPECT_EQ(table.size(), 1u);
  table.Delete(entry);
  EXPECT_EQ(table.Find(handle), nullptr);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SlotMapTest, ADefaultHandleNamesNothing) {
  Table table;
  EXPECT_FALSE(TestHandle());
  EXPECT_EQ(table.Find(TestHandle()), nullptr);
  table.New(nullptr);
  EXPECT_EQ(table.Find(TestHandle()), nullptr);
}

TEST(SlotMapTest, AHandleNeverNamesAnotherObject) {
  Table table;
  const TestHandle old = table.HandleOf(table.New(nullptr));
  table.Delete(table.Find(old));
  const TestHandle next = table.HandleOf(table.New(nullptr));
  EXPECT_NE(next, old);
  EXPECT_EQ(table.Find(old), nullptr);
  EXPECT_NE(table.Find(next), nullptr);
}

TEST(SlotMapTest, HandlesAreComparedAndHashed) {
  Table table;
  std::vector<TestHandle> handles = {TestHandle()};
  for (int i = 0; i < 10; ++i) {
    handles.push_back(table.HandleOf(table.New(nullptr)));
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(handles));
}

TEST(SlotMapTest, ForEachVisitsAllAndMayDelete) {
  Table table;
  for (int i = 0; i < 10; ++i) table.New(std::make_shared<int>(i));
  int sum = 0;
  table.ForEach([&](Entry* entry) {
    sum += *entry->value;
    if (*entry->value % 2 == 0) table.Delete(entry);
  });
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(table.size(), 5u);
  table.ForEach([&](Entry* entry) {
    EXPECT_EQ(*entry->value % 2, 1);
    table.Delete(entry);
  });
  EXPECT_EQ(table.size(), 0u);
}

TEST(SlotMapTest, DestroysWhatIsLeft) {
  const auto value = std::make_shared<int>(1);
  {
    Table table;
    table.New(value);
    table.New(value);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SlotMapTest, OldHandlesAreSafeWhenTheMemoryHasGoneBack) {
  Table table;
  std::vector<TestHandle> handles;
  for (int i = 0; i < 5000; ++i) {
    handles.push_back(table.HandleOf(table.New(nullptr)));
  }
  for (TestHandle handle : handles) table.Delete(table.Find(handle));
  for (TestHandle handle : handles) EXPECT_EQ(table.Find(handle), nullptr);
  for (int i = 0; i < 5000; ++i) table.New(nullptr);
  for (TestHandle handle : handles) EXPECT_EQ(table.Find(handle), nullptr);
}

TEST(SlotMapTest, HandlesFollowAnObjectThatMovesTwice) {
  constexpr int kBelow = 5000;  // objects in smaller slots, at first
  Table table;
  std::vector<Entry*> below;
  for (int i = 0; i < kBelow; ++i) below.push_back(table.New(nullptr));
  std::vector<Entry*> above;
  for (int i = 0; i < kBelow; ++i) above.push_back(table.New(nullptr));
  const TestHandle handle = table.HandleOf(table.New(std::make_shared<int>(1)));
  // Makes objects and deletes them, as long as the map wants objects to move.
  const auto compact = [&table] {
    for (int i = 0; i < kBelow; ++i) {
      table.Delete(table.New(nullptr));
      table.CompactIfDue(
          [&table](Entry* from, Entry*) { table.Delete(from); },
          [](const Entry& entry) { return entry.value != nullptr; });
    }
  };
  for (const std::vector<Entry*>& group : {above, below}) {
    const SlabId slot = table.Find(handle)->slot();
    for (Entry* entry : group) table.Delete(entry);
    compact();
    ASSERT_NE(table.Find(handle), nullptr);
    EXPECT_LT(table.Find(handle)->slot(), slot);
    EXPECT_EQ(*table.Find(handle)->value, 1);
  }
}

TEST(SlotMapTest, BehavesLikeAMap) {
  std::mt19937 random(1);
  Table table;
  std::vector<std::pair<TestHandle, int>> all;
  std::map<int, TestHandle> there;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      Entry* const entry = table.New(std::make_shared<int>(i));
      all.emplace_back(table.HandleOf(entry), i);
      there[i] = all.back().first;
    }
    if (all.empty()) continue;
    const auto& [handle, value] = all[random() % all.size()];
    Entry* const entry = table.Find(handle);
    ASSERT_EQ(entry != nullptr, there.count(value) == 1);
    if (entry == nullptr) continue;
    ASSERT_EQ(*entry->value, value);
    ASSERT_EQ(table.HandleOf(entry), handle);
    table.Delete(entry);
    there.erase(value);
    ASSERT_EQ(table.size(), there.size());
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(SlotMapTest, IfMakingOneThrowsNothingHasChanged) {
  struct Fragile : SlotMapEntry {
    explicit Fragile(const FragileKey& k) : key(k) {}
    FragileKey key;
  };
  SlotMap<Fragile, TestTag> table;
  const FragileKey key(1);
  const TestHandle first = table.HandleOf(table.New(key));
  Fuse::Arm(FragileOp::kCopy, 1);
  EXPECT_TRUE(Blows([&] { table.New(key); }));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_NE(table.Find(first), nullptr);
  Fragile* const second = table.New(key);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.Find(table.HandleOf(second)), second);
}

TEST(SlotMapTest, WithoutMemoryNoObjectMoves) {
  Table table;
  std::vector<Entry*> peak;
  for (int i = 0; i < 5000; ++i) peak.push_back(table.New(nullptr));
  const TestHandle handle = table.HandleOf(table.New(std::make_shared<int>(1)));
  for (Entry* entry : peak) table.Delete(entry);
  Entry* const entry = table.Find(handle);
  bool wanted = false;
  CountedHeap::exhausted = true;
  table.CompactIfDue([](Entry*, Entry*) { ADD_FAILURE() << "it has moved"; },
                     [&](const Entry& it) { return wanted = &it == entry; });
  CountedHeap::exhausted = false;
  EXPECT_TRUE(wanted);
  EXPECT_EQ(table.Find(handle), entry);
  EXPECT_EQ(*entry->value, 1);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::slot_map_test
}  // namespace workqueue
