// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/node_hash_set.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"

namespace workqueue {
namespace internal::node_hash_set_test {
namespace {

using ::workqueue::Blows;
using ::workqueue::FragileEq;
using ::workqueue::FragileHash;
using ::workqueue::FragileKey;
using ::workqueue::FragileOp;
using ::workqueue::Fuse;

template <typename T>
struct TestEntry : ItemNode<T> {
  using ItemNode<T>::ItemNode;

  int note = 0;  // stands for the data that a queue keeps here
};

using StringTable =
    NodeHashSet<std::string, TestEntry<std::string>, std::equal_to<>>;

// Gives many of a hundred items the same hash.
size_t Hash(int item) {
  return static_cast<size_t>(item % 100 % 7 + item / 100) * 0x9e3779b97f4a7c15;
}

using IntTable = NodeHashSet<int, TestEntry<int>, std::equal_to<>>;

TEST(NodeHashSetTest, IsEmptyAtFirst) {
  StringTable table;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Find("a", 1), nullptr);
}

TEST(NodeHashSetTest, FindsWhatWasInserted) {
  StringTable table;
  const std::string a = "a";
  const auto [entry, is_new] = table.FindOrInsert(a, 1);
  ASSERT_NE(entry, nullptr);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(entry->item(), "a");
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.Find("a", 1), entry);
  EXPECT_EQ(table.Find("b", 2), nullptr);
}

TEST(NodeHashSetTest, StoresEachItemOnce) {
  StringTable table;
  auto [first, first_is_new] = table.FindOrInsert(std::string("a"), 1);
  first->note = 7;
  auto [second, second_is_new] = table.FindOrInsert(std::string("a"), 1);
  EXPECT_TRUE(first_is_new);
  EXPECT_FALSE(second_is_new);
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->note, 7);
  EXPECT_EQ(table.size(), 1u);
}

TEST(NodeHashSetTest, DistinguishesItemsWithTheSameHash) {
  StringTable table;
  TestEntry<std::string>* const a =
      table.FindOrInsert(std::string("a"), 1).first;
  TestEntry<std::string>* const b =
      table.FindOrInsert(std::string("b"), 1).first;
  EXPECT_NE(a, b);
  EXPECT_EQ(table.Find("a", 1), a);
  EXPECT_EQ(table.Find("b", 1), b);
  EXPECT_EQ(table.Find("c", 1), nullptr);
}

// Searches of many items at once: most are in the table, and every fifth is
// not.
TEST(NodeHashSetTest, AGuessFindsTheItemAndNoOther) {
  IntTable table;
  for (int item = 0; item < 5000; ++item) {
    if (item % 5 != 0) table.FindOrInsert(item, Hash(item));
  }
  std::vector<size_t> hashes;
  for (int item = 0; item < 5000; ++item) hashes.push_back(Hash(item));
  int guesses = 0;
  size_t calls = 0;
  table.ForEachGuess(hashes, [&](size_t i, TestEntry<int>* guess) {
    EXPECT_EQ(i, calls++);
    if (guess != nullptr) ++guesses;
    const int item = static_cast<int>(i);
    const auto [entry, is_new] = table.FindOrInsert(item, hashes[i], guess);
    EXPECT_EQ(entry->item(), item);
    EXPECT_EQ(is_new, item % 5 == 0);
  });
  EXPECT_EQ(calls, hashes.size());
  EXPECT_EQ(table.size(), hashes.size());
  EXPECT_GT(guesses, 3000);
}

// Counts comparisons of different items.
struct CountingEq {
  bool operator()(uint64_t a, uint64_t b) const {
    unequal += a != b;
    return a == b;
  }
  inline static int unequal = 0;
};

// Many standard libraries hash integers and pointers in this way.
TEST(NodeHashSetTest, AHashMayBeTheItemItself) {
  constexpr int kItems = 2000;
  constexpr int kHighestShift = std::numeric_limits<size_t>::digits - 11;
  for (int shift = 0; shift <= kHighestShift; ++shift) {
    NodeHashSet<uint64_t, TestEntry<uint64_t>, CountingEq> table;
    CountingEq::unequal = 0;
    for (uint64_t i = 0; i < kItems; ++i) {
      table.FindOrInsert(i << shift, i << shift);
    }
    for (uint64_t i = 0; i < kItems; ++i) {
      EXPECT_NE(table.Find(i << shift, i << shift), nullptr);
    }
    // Among this many 32-bit values, few pairs are equal.
    EXPECT_LT(CountingEq::unequal, 10) << shift;
  }
}

TEST(NodeHashSetTest, MovesFromAnItemOnlyIfItIsNew) {
  StringTable table;
  std::string item(100, 'x');
  table.FindOrInsert(item, 1);
  EXPECT_EQ(item, std::string(100, 'x'));
  table.FindOrInsert(std::move(item), 1);  // The item is in the table already.
  EXPECT_EQ(item, std::string(100, 'x'));  // NOLINT(bugprone-use-after-move)

  auto shared = std::make_shared<int>(1);
  NodeHashSet<std::shared_ptr<int>, TestEntry<std::shared_ptr<int>>,
              std::equal_to<>>
      shared_table;
  shared_table.FindOrInsert(std::move(shared), 1);
  EXPECT_EQ(shared, nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST(NodeHashSetTest, EraseDestroysTheEntry) {
  NodeHashSet<std::shared_ptr<int>, TestEntry<std::shared_ptr<int>>,
              std::equal_to<>>
      table;
  auto item = std::make_shared<int>(1);
  TestEntry<std::shared_ptr<int>>* const entry =
      table.FindOrInsert(item, 1).first;
  EXPECT_EQ(item.use_count(), 2);
  table.Erase(entry);
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Find(item, 1), nullptr);
}

TEST(NodeHashSetTest, TheTableCanBeUsedAfterClear) {
  StringTable table;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i) table.FindOrInsert(std::to_string(i), i);
    EXPECT_EQ(table.size(), 200u);
    table.Clear();
    EXPECT_EQ(table.size(), 0u);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(table.Find(std::to_string(i), i), nullptr);
    }
  }
}

TEST(NodeHashSetTest, TheDestructorDestroysTheEntries) {
  auto item = std::make_shared<int>(1);
  {
    NodeHashSet<std::shared_ptr<int>, TestEntry<std::shared_ptr<int>>,
                std::equal_to<>>
        table;
    table.FindOrInsert(item, 1);
    EXPECT_EQ(item.use_count(), 2);
  }
  EXPECT_EQ(item.use_count(), 1);
}

TEST(NodeHashSetTest, EntriesHaveStableAddresses) {
  IntTable table;
  std::vector<TestEntry<int>*> entries;
  for (int i = 0; i < 2000; ++i) {
    entries.push_back(table.FindOrInsert(i, Hash(i)).first);
  }
  for (int i = 0; i < 2000; i += 2) table.Erase(entries[i]);
  for (int i = 1; i < 2000; i += 2) {
    ASSERT_EQ(table.Find(i, Hash(i)), entries[i]);
    ASSERT_EQ(entries[i]->item(), i);
  }
}

TEST(NodeHashSetTest, BehavesLikeAMap) {
  for (int seed : {1, 2, 3}) {
    std::mt19937 random(seed);
    const int keys = seed == 1 ? 10 : 500;
    IntTable table;
    std::map<int, TestEntry<int>*> model;
    for (int i = 0; i < 10000; ++i) {
      const int key = static_cast<int>(random() % keys);
      const size_t hash = Hash(key);
      const auto it = model.find(key);
      switch (random() % 4) {
        case 0: {
          const auto [entry, is_new] = table.FindOrInsert(key, hash);
          ASSERT_EQ(is_new, it == model.end());
          ASSERT_EQ(entry->item(), key);
          if (is_new) {
            model[key] = entry;
          } else {
            ASSERT_EQ(entry, it->second);
          }
          break;
        }
        case 1:
          if (it == model.end()) break;
          table.Erase(it->second);
          model.erase(it);
          break;
        default:
          ASSERT_EQ(table.Find(key, hash),
                    it == model.end() ? nullptr : it->second);
      }
      if (random() % 10000 == 0) {
        table.Clear();
        model.clear();
      }
      ASSERT_EQ(table.size(), model.size());
    }
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

// Does the same as BehavesLikeAMap, but sometimes an operation throws.
TEST(NodeHashSetTest, AnExceptionChangesNothing) {
  int blown = 0;
  {
    std::mt19937 random(1);
    NodeHashSet<FragileKey, TestEntry<FragileKey>, FragileEq> table;
    std::map<int, TestEntry<FragileKey>*> model;
    for (int i = 0; i < 5000; ++i) {
      const FragileKey key(static_cast<int>(random() % 50));
      const size_t hash = key.value() % 2;  // many comparisons
      const auto it = model.find(key.value());
      Fuse::Arm(random() % 2 == 0 ? FragileOp::kCopy : FragileOp::kCompare,
                1 + static_cast<int>(random() % 30));
      if (random() % 2 == 0) {
        std::pair<TestEntry<FragileKey>*, bool> found;
        if (!Blows([&] { found = table.FindOrInsert(key, hash); })) {
          ASSERT_EQ(found.second, it == model.end());
          model[key.value()] = found.first;
        }
      } else if (it != model.end()) {
        table.Erase(it->second);  // never throws
        model.erase(it);
      }
      blown += Fuse::Disarm();
      ASSERT_EQ(table.size(), model.size());
      ASSERT_EQ(FragileKey::live(), static_cast<int>(model.size()) + 1);
      for (const auto& [value, entry] : model) {
        ASSERT_EQ(entry->item().value(), value);
      }
    }
  }
  EXPECT_GT(blown, 100);
  EXPECT_EQ(FragileKey::live(), 0);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::node_hash_set_test
}  // namespace workqueue
