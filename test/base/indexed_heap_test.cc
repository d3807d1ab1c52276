// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/indexed_heap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/base/counted_heap.h"

namespace workqueue {
namespace internal::indexed_heap_test {
namespace {

using ::workqueue::CountedHeap;

struct Element {
  explicit Element(int v) : value(v) {}

  int value;
  uint32_t heap_index = 0;
};

template <typename Key>
struct Slot {
  bool operator<(const Slot& other) const { return key < other.key; }

  Key key;
  Element* element;
};

struct SetIndex {
  template <typename Key>
  void operator()(const Slot<Key>& slot, uint32_t index) const {
    slot.element->heap_index = index;
  }
};

template <typename Key>
using HeapOf = IndexedHeap<Slot<Key>, SetIndex>;
using Heap = HeapOf<int>;

std::vector<Element> MakeElements(int n) {
  std::vector<Element> elements;
  for (int i = 0; i < n; ++i) elements.emplace_back(i);
  return elements;
}

// Removes all keys from `heap` in their order, and returns them.
std::vector<int> PopAllKeys(Heap& heap) {
  std::vector<int> keys;
  while (!heap.empty()) {
    keys.push_back(heap.front().key);
    heap.Remove(0);
  }
  return keys;
}

TEST(IndexedHeapTest, UpdateAllUpdatesEachSlotInItsPlace) {
  Heap heap;
  std::vector<Element> elements = MakeElements(100);
  for (Element& element : elements) heap.Push({element.value, &element});
  const std::vector<Element> before = elements;
  heap.UpdateAll([](Slot<int>& slot) { slot.key *= 2; });
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(elements[i].heap_index, before[i].heap_index);
    EXPECT_EQ(heap[elements[i].heap_index].key, 2 * elements[i].value);
  }
}

TEST(IndexedHeapTest, UpdateAllMayPutSlotsIntoTheOrderOfTheCalls) {
  Heap heap;
  std::vector<Element> elements = MakeElements(100);
  for (Element& element : elements) heap.Push({element.value, &element});
  int calls = 0;
  std::vector<int> expected;
  heap.UpdateAll([&](Slot<int>& slot) {
    expected.push_back(calls);
    slot.key = calls++;
  });
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(PopAllKeys(heap), expected);
}

TEST(IndexedHeapTest, IsEmptyAtFirst) {
  Heap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0u);
  heap.ForEach([](const Slot<int>&) { FAIL(); });
}

TEST(IndexedHeapTest, TheLeastComesFirst) {
  std::vector<int> keys = {1, 2, 3, 4, 5, 6, 7};
  do {
    Heap heap;
    std::vector<Element> elements = MakeElements(8);
    for (int key : keys) heap.Push({key, &elements[key]});
    ASSERT_EQ(heap.size(), 7u);
    ASSERT_EQ(heap.front().element, &elements[1]);
    ASSERT_EQ(heap.front().key, 1);
    ASSERT_EQ(PopAllKeys(heap), (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
  } while (std::next_permutation(keys.begin(), keys.end()));
}

// Moves each entry of heaps of each size to each place.
TEST(IndexedHeapTest, AnyKeyCanBeChangedToAnyOther) {
  for (int size = 1; size <= 25; ++size) {
    for (int moved = 0; moved < size; ++moved) {
      for (int key = -1; key <= 2 * size; ++key) {
        Heap heap;
        std::vector<Element> elements = MakeElements(size);
        std::vector<int> expected;
        for (int i = 0; i < size; ++i) {
          heap.Push({2 * i, &elements[i]});
          expected.push_back(i == moved ? key : 2 * i);
        }
        heap.Replace(elements[moved].heap_index, {key, &elements[moved]});
        ASSERT_EQ(heap[elements[moved].heap_index].key, key);
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(PopAllKeys(heap), expected) << size << " " << moved;
      }
    }
  }
}

// The last entry takes the place of the removed one, and may have to move up or
// down from there.
TEST(IndexedHeapTest, AnyEntryCanBeRemoved) {
  std::mt19937 random(1);
  for (int size = 1; size <= 60; ++size) {
    for (int removed = 0; removed < size; ++removed) {
      Heap heap;
      std::vector<Element> elements = MakeElements(size);
      std::vector<int> order;
      std::vector<int> expected;
      for (int i = 0; i < size; ++i) {
        order.push_back(i);
        if (i != removed) expected.push_back(i);
      }
      std::shuffle(order.begin(), order.end(), random);
      for (int i : order) heap.Push({i, &elements[i]});
      heap.Remove(elements[removed].heap_index);
      ASSERT_EQ(PopAllKeys(heap), expected);
    }
  }
}

TEST(IndexedHeapTest, KeepsEqualKeys) {
  Heap heap;
  std::vector<Element> elements = MakeElements(100);
  for (Element& element : elements) heap.Push({element.value % 3, &element});
  std::set<const Element*> came;
  int last = 0;
  while (!heap.empty()) {
    EXPECT_GE(heap.front().key, last);
    last = heap.front().key;
    EXPECT_TRUE(came.insert(heap.front().element).second);
    heap.Remove(0);
  }
  EXPECT_EQ(came.size(), elements.size());
}

TEST(IndexedHeapTest, VisitInOrderVisitsTheLeastSlotsInOrder) {
  std::mt19937 random(1);
  for (int n = 0; n < 100; ++n) {
    Heap heap;
    std::vector<Element> elements = MakeElements(n);
    for (Element& element : elements) {
      heap.Push({static_cast<int>(random() % 50), &element});
    }
    std::vector<int> visited;
    heap.VisitInOrder([&visited](const Slot<int>& slot) {
      visited.push_back(slot.key);
      return true;
    });
    std::vector<int> first;
    if (n > 0) {
      heap.VisitInOrder([&first, n](const Slot<int>& slot) {
        first.push_back(slot.key);
        return first.size() < size_t(n + 1) / 2;
      });
    }
    const std::vector<int> expected = PopAllKeys(heap);
    EXPECT_EQ(visited, expected);
    EXPECT_EQ(first, std::vector<int>(expected.begin(),
                                      expected.begin() + (n + 1) / 2));
  }
}

TEST(IndexedHeapTest, ForEachVisitsEachEntryOnceWithItsKey) {
  Heap heap;
  std::vector<Element> elements = MakeElements(50);
  for (Element& element : elements) heap.Push({100 - element.value, &element});
  heap.Remove(elements[7].heap_index);
  std::map<int, int> visited;
  heap.ForEach([&visited](const Slot<int>& slot) {
    EXPECT_TRUE(visited.emplace(slot.element->value, slot.key).second);
  });
  EXPECT_EQ(visited.size(), 49u);
  EXPECT_EQ(visited.count(7), 0u);
  for (const auto& [value, key] : visited) EXPECT_EQ(key, 100 - value);
}

TEST(IndexedHeapTest, APushAfterReserveOneAllocatesNothing) {
  Heap heap;
  std::vector<Element> elements = MakeElements(3000);
  for (Element& element : elements) {
    heap.ReserveOne();
    const int64_t before = CountedHeap::allocations;
    heap.Push({element.value, &element});
    ASSERT_EQ(CountedHeap::allocations, before) << element.value;
  }
}

TEST(IndexedHeapTest, ReserveOneChangesNothing) {
  Heap heap;
  std::vector<Element> elements = MakeElements(40);
  for (Element& element : elements) {
    heap.ReserveOne();
    heap.ReserveOne();
    EXPECT_EQ(heap.size(), static_cast<size_t>(element.value));
    heap.Push({-element.value, &element});
  }
  EXPECT_EQ(heap.front().element, &elements[39]);
}

TEST(IndexedHeapTest, TheHeapCanBeUsedAfterClear) {
  Heap heap;
  std::vector<Element> elements = MakeElements(40);
  for (int round = 0; round < 3; ++round) {
    for (Element& element : elements) heap.Push({element.value, &element});
    heap.Clear();
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.size(), 0u);
  }
  heap.Clear();
  heap.ReserveOne();
  heap.Push({3, &elements[5]});
  EXPECT_EQ(heap.front().element, &elements[5]);
  EXPECT_EQ(heap[elements[5].heap_index].key, 3);
}

TEST(IndexedHeapTest, ShrinkFreesMemoryThatIsNotNeeded) {
  std::vector<Element> elements = MakeElements(10000);
  Heap heap;
  const int64_t before = CountedHeap::bytes_in_use;
  for (Element& element : elements) heap.Push({element.value, &element});
  const int64_t full = CountedHeap::bytes_in_use - before;
  for (int i = 0; i < 8000; ++i) heap.Remove(elements[i].heap_index);
  heap.Shrink(9000);
  EXPECT_EQ(CountedHeap::bytes_in_use - before, full) << "it is reserved";
  heap.Shrink(heap.size());
  EXPECT_LT(CountedHeap::bytes_in_use - before, full / 2);
  const int64_t allocations = CountedHeap::allocations;
  heap.Reserve(2000);
  EXPECT_EQ(CountedHeap::allocations, allocations);
  std::vector<int> left(2000);
  std::iota(left.begin(), left.end(), 8000);
  EXPECT_EQ(PopAllKeys(heap), left);
}

// A key with only `<` and copying, which shows that the heap requires nothing
// else.
class BareKey {
 public:
  explicit BareKey(int value) : value_(value) {}
  bool operator<(const BareKey& other) const { return value_ < other.value_; }

 private:
  int value_;
};

TEST(IndexedHeapTest, AKeyNeedsOnlyLessThan) {
  HeapOf<BareKey> heap;
  Element one(1), two(2);
  heap.Push({BareKey(2), &two});
  heap.Push({BareKey(1), &one});
  EXPECT_EQ(heap.front().element, &one);
  heap.Replace(one.heap_index, {BareKey(3), &one});
  EXPECT_EQ(heap.front().element, &two);
}

// A key that counts its comparisons.
class CountingKey {
 public:
  explicit CountingKey(unsigned value) : value_(value) {}
  bool operator<(const CountingKey& other) const {
    ++count_;
    return value_ < other.value_;
  }

  // Returns the number of comparisons since the last call.
  static int TakeCount() { return std::exchange(count_, 0); }

 private:
  static int count_;
  unsigned value_;
};

int CountingKey::count_ = 0;

// With four children per node there are log4(n) levels. Each level needs one
// comparison on the way up and four on the way down.
TEST(IndexedHeapTest, ComparesInProportionToTheLevels) {
  std::mt19937 random(1);
  HeapOf<CountingKey> heap;
  std::vector<Element> elements = MakeElements(100000);
  int levels = 0;  // of a heap with one more entry
  for (Element& element : elements) {
    if (heap.size() + 1 > (size_t{1} << (2 * levels))) ++levels;
    heap.Push({CountingKey(random()), &element});
    ASSERT_LE(CountingKey::TakeCount(), levels) << heap.size();
  }
  for (Element& element : elements) {
    heap.Replace(element.heap_index, {CountingKey(random()), &element});
    ASSERT_LE(CountingKey::TakeCount(), 1 + 4 * levels);
  }
  for (Element& element : elements) {
    heap.Remove(element.heap_index);
    ASSERT_LE(CountingKey::TakeCount(), 1 + 4 * levels);
  }
}

// For each visit, one slot leaves the frontier and four come to it.
TEST(IndexedHeapTest, VisitInOrderComparesFewSlots) {
  const auto comparisons_with = [](unsigned n) {
    HeapOf<CountingKey> heap;
    std::vector<Element> elements = MakeElements(static_cast<int>(n));
    for (unsigned i = 0; i < n; ++i) {
      heap.Push({CountingKey(i), &elements[i]});
    }
    CountingKey::TakeCount();
    int visits = 0;
    heap.VisitInOrder(
        [&visits](const Slot<CountingKey>&) { return ++visits < 10; });
    EXPECT_EQ(visits, 10);
    return CountingKey::TakeCount();
  };
  const int comparisons = comparisons_with(1000);
  EXPECT_LE(comparisons, 10 * (4 + 2) * 5) << "the frontier has 5 levels";
  EXPECT_EQ(comparisons_with(100000), comparisons);
}

class IndexedHeapModelTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, IndexedHeapModelTest, testing::Range(1, 7));

TEST_P(IndexedHeapModelTest, BehavesLikeAMap) {
  std::mt19937 random(GetParam());
  const auto below = [&random](int n) {
    return static_cast<int>(random() % n);
  };
  // Few different keys, so that many are equal, or many different keys.
  const int keys = GetParam() % 2 == 0 ? 10 : 100000;
  const int count = GetParam() <= 2 ? 8 : 300;
  std::vector<Element> elements = MakeElements(count);
  Heap heap;
  std::map<Element*, int> model;  // the key of each element
  for (int i = 0; i < 20000; ++i) {
    Element* const element = &elements[below(count)];
    const bool is_in = model.count(element) > 0;
    // The heap grows and shrinks in turn, so that it is full at times and empty
    // at times.
    const int remove = i / 2000 % 2 == 0 ? 20 : 60;
    const int choice = below(100);
    if (!is_in) {
      if (choice < remove) continue;
      if (below(2) == 0) heap.ReserveOne();
      const int key = below(keys);
      heap.Push({key, element});
      model[element] = key;
    } else if (choice < remove / 2) {
      heap.Remove(element->heap_index);
      model.erase(element);
    } else if (choice < remove) {
      model.erase(heap.front().element);
      heap.Remove(0);
    } else if (choice < 99 || below(20) > 0) {
      const int key = below(keys);
      heap.Replace(element->heap_index, {key, element});
      model[element] = key;
    } else {
      heap.Clear();
      model.clear();
    }

    ASSERT_EQ(heap.size(), model.size());
    ASSERT_EQ(heap.empty(), model.empty());
    if (model.empty()) continue;
    const auto least =
        std::min_element(model.begin(), model.end(),
                         [](auto& a, auto& b) { return a.second < b.second; });
    ASSERT_EQ(heap.front().key, least->second);
    ASSERT_EQ(model.count(heap.front().element), 1u);
    ASSERT_EQ(model[heap.front().element], least->second);
    if (i % 10 != 0) continue;
    // Each entry must have its own index.
    std::set<size_t> indices;
    for (const auto& [entry, key] : model) {
      ASSERT_LT(entry->heap_index, heap.size());
      ASSERT_TRUE(indices.insert(entry->heap_index).second);
      ASSERT_EQ(heap[entry->heap_index].key, key);
    }
    size_t visited = 0;
    heap.ForEach([&](const Slot<int>& slot) {
      ++visited;
      EXPECT_EQ(model.at(slot.element), slot.key);
    });
    ASSERT_EQ(visited, model.size());
  }
  std::vector<int> left;
  for (const auto& place : model) left.push_back(place.second);
  std::sort(left.begin(), left.end());
  EXPECT_EQ(PopAllKeys(heap), left);
}

}  // namespace
}  // namespace internal::indexed_heap_test
}  // namespace workqueue
