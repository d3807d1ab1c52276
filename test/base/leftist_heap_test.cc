// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/leftist_heap.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace workqueue {
namespace internal::leftist_heap_test {
namespace {

struct Element : LeftistHeapLink<Element> {
  explicit Element(int k) : key(k) {}

  int key;
};

int64_t comparisons = 0;

struct Less {
  bool operator()(const Element& a, const Element& b) const {
    ++comparisons;
    return a.key < b.key;
  }
};

using Heap = LeftistHeap<Element, Less>;

TEST(LeftistHeapTest, IsEmptyAtFirst) {
  const Heap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.front(), nullptr);
}

TEST(LeftistHeapTest, TheLeastIsAtTheFront) {
  Heap heap;
  Element five(5), three(3), four(4);
  heap.Push(&five);
  EXPECT_EQ(heap.front(), &five);
  heap.Push(&three);
  EXPECT_EQ(heap.front(), &three);
  heap.Push(&four);
  EXPECT_EQ(heap.front(), &three);
  heap.Remove(&three);
  EXPECT_EQ(heap.front(), &four);
  heap.Remove(&five);
  EXPECT_EQ(heap.front(), &four);
  heap.Remove(&four);
  EXPECT_TRUE(heap.empty());
}

TEST(LeftistHeapTest, AnElementWhoseOrderChangesCanBePushedAgain) {
  Heap heap;
  Element one(1), two(2), three(3);
  for (Element* element : {&one, &two, &three}) heap.Push(element);
  one.key = 4;
  heap.Remove(&one);
  heap.Push(&one);
  EXPECT_EQ(heap.front(), &two);
}

// Checks that no child is less than its parent. Returns the number of elements
// in the heap below `element`.
int CheckedSize(const Element* element) {
  if (element == nullptr) return 0;
  int size = 1;
  for (const Element* child : {element->left(), element->right()}) {
    if (child == nullptr) continue;
    EXPECT_LE(element->key, child->key);
    size += CheckedSize(child);
  }
  return size;
}

TEST(LeftistHeapTest, BehavesLikeASortedSet) {
  Heap heap;
  std::vector<std::unique_ptr<Element>> elements;
  std::multiset<int> keys;
  std::mt19937 random(1);
  for (int i = 0; i < 30000; ++i) {
    // Grows, and shrinks.
    const bool grow = random() % 100 < (i / 1000 % 2 == 0 ? 60u : 40u);
    if (grow || elements.empty()) {
      elements.push_back(std::make_unique<Element>(random() % 100));
      keys.insert(elements.back()->key);
      heap.Push(elements.back().get());
    } else {
      std::swap(elements[random() % elements.size()], elements.back());
      keys.erase(keys.find(elements.back()->key));
      heap.Remove(elements.back().get());
      elements.pop_back();
    }
    ASSERT_EQ(heap.empty(), keys.empty());
    if (!keys.empty()) {
      ASSERT_EQ(heap.front()->key, *keys.begin());
    }
    if (i % 100 == 0) {
      ASSERT_EQ(CheckedSize(heap.front()), static_cast<int>(elements.size()));
    }
  }
}

TEST(LeftistHeapTest, EachCallComparesFew) {
  constexpr int kSize = 1 << 14;
  for (const int step : {1, -1, 5}) {  // up, down, and mixed
    Heap heap;
    std::vector<std::unique_ptr<Element>> elements;
    int64_t most = 0;
    const auto count = [&most](auto call) {
      comparisons = 0;
      call();
      most = std::max(most, comparisons);
    };
    for (int i = 0; i < kSize; ++i) {
      elements.push_back(std::make_unique<Element>(i * step % kSize));
      count([&] { heap.Push(elements.back().get()); });
    }
    while (!heap.empty()) {
      count([&heap] { heap.Remove(heap.front()); });
    }
    EXPECT_LE(most, 2 * 15) << step;
  }
}

}  // namespace
}  // namespace internal::leftist_heap_test
}  // namespace workqueue
