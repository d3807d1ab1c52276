// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/waiting_heap.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"

namespace workqueue {
namespace internal {
namespace {

using StringHeap =
    WaitingHeap<std::string, std::hash<std::string>, std::equal_to<>>;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

void Insert(StringHeap& heap, const std::string& item, absl::Time ready_at) {
  heap.Insert(item, std::hash<std::string>()(item), ready_at);
}

// Takes all items out of `heap`, first the one that is ready first.
std::vector<std::string> PopAll(StringHeap& heap) {
  std::vector<std::string> items;
  for (; !heap.empty(); heap.PopNext()) items.push_back(heap.NextItem());
  return items;
}

TEST(WaitingHeapTest, IsEmptyAtFirst) {
  StringHeap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0u);
}

TEST(WaitingHeapTest, TheEarliestComesFirst) {
  std::vector<std::pair<std::string, int>> items = {
      {"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}};
  do {
    StringHeap heap;
    for (const auto& [item, seconds] : items) Insert(heap, item, At(seconds));
    ASSERT_EQ(heap.size(), 6u);
    ASSERT_EQ(heap.NextItem(), "a");
    ASSERT_EQ(heap.NextReadyAt(), At(1));
    ASSERT_EQ(PopAll(heap),
              (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
    ASSERT_EQ(heap.size(), 0u);
  } while (std::next_permutation(items.begin(), items.end()));
}

TEST(WaitingHeapTest, EqualTimesComeInTheOrderOfInsertion) {
  StringHeap heap;
  std::vector<std::string> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(std::to_string(i));
    Insert(heap, items.back(), At(1));
  }
  EXPECT_EQ(PopAll(heap), items);
}

TEST(WaitingHeapTest, AnEarlierTimeCounts) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(4));
  Insert(heap, "a", At(3));
  EXPECT_EQ(heap.size(), 2u);
  EXPECT_EQ(heap.NextItem(), "a");
  EXPECT_EQ(heap.NextReadyAt(), At(3));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "b"}));
}

TEST(WaitingHeapTest, ALaterOrEqualTimeChangesNothing) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(5));
  Insert(heap, "c", At(6));
  Insert(heap, "a", At(7));
  Insert(heap, "a", At(5));  // Keeps its place before "b".
  EXPECT_EQ(heap.size(), 3u);
  EXPECT_EQ(heap.NextReadyAt(), At(5));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(WaitingHeapTest, AnItemMadeEarlierComesAfterThoseOfThatTime) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(3));
  Insert(heap, "a", At(3));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"b", "a"}));
}

TEST(WaitingHeapTest, TheEndsOfTimeAreTimesToo) {
  StringHeap heap;
  Insert(heap, "never", absl::InfiniteFuture());
  Insert(heap, "sometime", At(1));
  Insert(heap, "always", absl::InfinitePast());
  Insert(heap, "never again", absl::InfiniteFuture());
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"always", "sometime",
                                                    "never", "never again"}));
}

TEST(WaitingHeapTest, APostponedItemComesLater) {
  StringHeap heap;
  Insert(heap, "a", At(1));
  Insert(heap, "b", At(2));
  Insert(heap, "c", At(3));
  heap.PostponeNext(At(2));
  EXPECT_EQ(heap.NextItem(), "b");
  EXPECT_EQ(heap.NextReadyAt(), At(2));
  heap.PostponeNext(At(9));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "c", "b"}));
}

TEST(WaitingHeapTest, AnItemCanWaitAgain) {
  StringHeap heap;
  Insert(heap, "a", At(1));
  heap.PopNext();
  Insert(heap, "a", At(7));
  EXPECT_EQ(heap.NextReadyAt(), At(7));
}

TEST(WaitingHeapTest, ReleasesItems) {
  WaitingHeap<std::shared_ptr<int>, std::hash<std::shared_ptr<int>>,
              std::equal_to<>>
      heap;
  auto popped = std::make_shared<int>(1);
  auto cleared = std::make_shared<int>(2);
  heap.Insert(popped, 1, At(1));
  heap.Insert(cleared, 2, At(2));
  heap.PopNext();
  EXPECT_EQ(popped.use_count(), 1);
  EXPECT_EQ(cleared.use_count(), 2);
  heap.Clear();
  EXPECT_EQ(cleared.use_count(), 1);
  EXPECT_TRUE(heap.empty());
  heap.Insert(popped, 1, At(1));
  EXPECT_EQ(heap.NextItem(), popped);
}

TEST(WaitingHeapTest, MovesFromAnItemOnlyIfItIsNew) {
  StringHeap heap;
  std::string item(100, 'x');
  heap.Insert(item, 1, At(2));
  heap.Insert(std::move(item), 1, At(1));
  EXPECT_EQ(item, std::string(100, 'x'));  // NOLINT(bugprone-use-after-move)
}

// The waiting set as plainly as it can be written: who waits until when, and
// who came before whom.
class Model {
 public:
  using Place = std::pair<absl::Time, int>;

  void Insert(int item, absl::Time ready_at) {
    const auto it = places_.find(item);
    if (it == places_.end() || ready_at < it->second.first) {
      places_[item] = {ready_at, next_++};
    }
  }

  int Next() const {
    return std::min_element(
               places_.begin(), places_.end(),
               [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  }

  absl::Time NextReadyAt() const { return places_.at(Next()).first; }
  void PopNext() { places_.erase(Next()); }
  void PostponeNext(absl::Time t) { places_[Next()] = {t, next_++}; }
  void Clear() { places_.clear(); }
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

 private:
  std::map<int, Place> places_;
  int next_ = 0;
};

TEST(WaitingHeapTest, DoesAsTheModelDoes) {
  for (int seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int items = seed == 1 ? 5 : 60;
    WaitingHeap<int, std::hash<int>, std::equal_to<>> heap;
    Model model;
    for (int i = 0; i < 6000; ++i) {
      const int op = static_cast<int>(random() % 100);
      if (op < 60 || model.empty()) {
        const int item = static_cast<int>(random() % items);
        const absl::Time ready_at = At(static_cast<int>(random() % 50));
        heap.Insert(item, item % 3, ready_at);
        model.Insert(item, ready_at);
      } else if (op < 90) {
        heap.PopNext();
        model.PopNext();
      } else if (op < 99) {
        const absl::Time later =
            model.NextReadyAt() +
            absl::Seconds(1 + static_cast<int>(random() % 20));
        heap.PostponeNext(later);
        model.PostponeNext(later);
      } else if (random() % 20 == 0) {
        heap.Clear();
        model.Clear();
      }
      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(heap.empty(), model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(heap.NextItem(), model.Next());
      ASSERT_EQ(heap.NextReadyAt(), model.NextReadyAt());
    }
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

// As DoesAsTheModelDoes, but now and then something throws.
TEST(WaitingHeapTest, AnExceptionLeavesItAsItWas) {
  int blown = 0;
  {
    std::mt19937 random(1);
    WaitingHeap<FragileKey, FragileHash, FragileEq> heap;
    Model model;
    for (int i = 0; i < 8000; ++i) {
      Fuse::Arm(random() % 2 == 0 ? FragileOp::kCopy : FragileOp::kCompare,
                1 + static_cast<int>(random() % 20));
      if (random() % 2 == 0 || model.empty()) {
        const FragileKey key(static_cast<int>(random() % 40));
        const absl::Time ready_at = At(static_cast<int>(random() % 50));
        if (!Blows([&] { heap.Insert(key, key.value() % 2, ready_at); })) {
          model.Insert(key.value(), ready_at);
        }
      } else if (random() % 4 == 0) {
        const absl::Time later = model.NextReadyAt() + absl::Seconds(5);
        heap.PostponeNext(later);  // Throws nothing, as
        model.PostponeNext(later);
      } else {
        heap.PopNext();  // this.
        model.PopNext();
      }
      blown += Fuse::Disarm();
      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(FragileKey::live(), static_cast<int>(model.size()));
      if (model.empty()) continue;
      ASSERT_EQ(heap.NextItem().value(), model.Next());
      ASSERT_EQ(heap.NextReadyAt(), model.NextReadyAt());
    }
  }
  EXPECT_GT(blown, 100);
  EXPECT_EQ(FragileKey::live(), 0);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal
}  // namespace workqueue
