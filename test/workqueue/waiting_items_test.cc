// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/waiting_items.h"

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
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace internal::waiting_items_test {
namespace {

// Waiting items in a heap, whose times are exact.
template <typename T, typename Hash, typename Eq>
class ItemsInHeap {
 public:
  using Items = WaitingItems<T, Eq>;
  using Entry = typename Items::Entry;

  size_t size() const { return items_.size(); }
  bool empty() const { return size() == 0; }

  void Insert(T item, size_t hash, absl::Time due_at) {
    InsertFrom(&item, hash, due_at);
  }
  void InsertFrom(T* item, size_t hash, absl::Time due_at) {
    items_.Insert(std::move(*item), hash, due_at, absl::UnixEpoch());
  }
  void InsertOrMove(const T& item, size_t hash, absl::Time due_at) {
    items_.Insert(item, hash, due_at, absl::UnixEpoch(), /*even_later=*/true);
  }
  Entry* Find(const T& item, size_t hash) const {
    return items_.Find(item, hash);
  }
  void Remove(Entry* entry) { items_.Remove(entry); }
  void Clear() { items_.Clear(); }

  Entry* Next() { return items_.Due(absl::InfiniteFuture()); }
  const T& NextItem() { return Next()->item(); }
  absl::Time NextDueAt() const { return items_.NextWake(); }
  void PopNext() { items_.Remove(Next()); }
  void PostponeNext(absl::Time due_at) {
    items_.Postpone(Next(), due_at, absl::UnixEpoch());
  }

  template <typename F>
  void ForEach(F visit) const {
    items_.ForFirst(size(), visit);
  }

 private:
  FakeClock clock_;
  Items items_{WaitingSetOptions(), &clock_};
};

using StringHeap =
    ItemsInHeap<std::string, std::hash<std::string>, std::equal_to<>>;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

void Insert(StringHeap& heap, const std::string& item, absl::Time due_at) {
  heap.Insert(item, std::hash<std::string>()(item), due_at);
}

void InsertOrMove(StringHeap& heap, const std::string& item,
                  absl::Time due_at) {
  heap.InsertOrMove(item, std::hash<std::string>()(item), due_at);
}

StringHeap::Entry* Find(const StringHeap& heap, const std::string& item) {
  return heap.Find(item, std::hash<std::string>()(item));
}

// Removes all items from `heap`, and returns them in the order of their times.
std::vector<std::string> PopAll(StringHeap& heap) {
  std::vector<std::string> items;
  for (; !heap.empty(); heap.PopNext()) items.push_back(heap.NextItem());
  return items;
}

TEST(WaitingItemsTest, IsEmptyAtFirst) {
  StringHeap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0u);
}

TEST(WaitingItemsTest, TheEarliestComesFirst) {
  std::vector<std::pair<std::string, int>> items = {
      {"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}};
  do {
    StringHeap heap;
    for (const auto& [item, seconds] : items) Insert(heap, item, At(seconds));
    ASSERT_EQ(heap.size(), 6u);
    ASSERT_EQ(heap.NextItem(), "a");
    ASSERT_EQ(heap.NextDueAt(), At(1));
    ASSERT_EQ(PopAll(heap),
              (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
    ASSERT_EQ(heap.size(), 0u);
  } while (std::next_permutation(items.begin(), items.end()));
}

TEST(WaitingItemsTest, EqualTimesComeInTheOrderOfInsertion) {
  StringHeap heap;
  std::vector<std::string> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(std::to_string(i));
    Insert(heap, items.back(), At(1));
  }
  EXPECT_EQ(PopAll(heap), items);
}

TEST(WaitingItemsTest, AnEarlierTimeCounts) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(4));
  Insert(heap, "a", At(3));
  EXPECT_EQ(heap.size(), 2u);
  EXPECT_EQ(heap.NextItem(), "a");
  EXPECT_EQ(heap.NextDueAt(), At(3));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "b"}));
}

TEST(WaitingItemsTest, ALaterOrEqualTimeChangesNothing) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(5));
  Insert(heap, "c", At(6));
  Insert(heap, "a", At(7));
  Insert(heap, "a", At(5));  // Keeps its place before "b".
  EXPECT_EQ(heap.size(), 3u);
  EXPECT_EQ(heap.NextDueAt(), At(5));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(WaitingItemsTest, AnItemMadeEarlierComesAfterThoseOfThatTime) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(3));
  Insert(heap, "a", At(3));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"b", "a"}));
}

TEST(WaitingItemsTest, TheEndsOfTimeAreTimesToo) {
  StringHeap heap;
  Insert(heap, "never", absl::InfiniteFuture());
  Insert(heap, "sometime", At(1));
  Insert(heap, "always", absl::InfinitePast());
  EXPECT_EQ(heap.NextItem(), "always");
  heap.PopNext();
  EXPECT_EQ(heap.NextItem(), "sometime");
  heap.PopNext();
  EXPECT_EQ(heap.size(), 1u);
  EXPECT_EQ(heap.NextDueAt(), absl::InfiniteFuture());
  EXPECT_EQ(heap.Next(), nullptr);
}

TEST(WaitingItemsTest, APostponedItemComesLater) {
  StringHeap heap;
  Insert(heap, "a", At(1));
  Insert(heap, "b", At(2));
  Insert(heap, "c", At(3));
  heap.PostponeNext(At(2));
  EXPECT_EQ(heap.NextItem(), "b");
  EXPECT_EQ(heap.NextDueAt(), At(2));
  heap.PostponeNext(At(9));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "c", "b"}));
}

TEST(WaitingItemsTest, AnItemCanWaitAgain) {
  StringHeap heap;
  Insert(heap, "a", At(1));
  heap.PopNext();
  Insert(heap, "a", At(7));
  EXPECT_EQ(heap.NextDueAt(), At(7));
}

TEST(WaitingItemsTest, ReleasesItems) {
  ItemsInHeap<std::shared_ptr<int>, std::hash<std::shared_ptr<int>>,
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

TEST(WaitingItemsTest, MovesFromAnItemOnlyIfItIsNew) {
  StringHeap heap;
  std::string item(100, 'x');
  heap.Insert(item, 1, At(2));
  heap.InsertFrom(&item, 1, At(1));
  EXPECT_EQ(item, std::string(100, 'x'));
  heap.InsertFrom(&item, 2, At(1));
  EXPECT_EQ(item, "");
}

// -----------------------------------------------------------------------------
// Moving and removing
// -----------------------------------------------------------------------------

TEST(WaitingItemsTest, InsertOrMoveInsertsWhatDoesNotWait) {
  StringHeap heap;
  InsertOrMove(heap, "b", At(2));
  InsertOrMove(heap, "a", At(1));
  EXPECT_EQ(heap.size(), 2u);
  EXPECT_EQ(heap.NextDueAt(), At(1));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"a", "b"}));
}

TEST(WaitingItemsTest, InsertOrMoveMakesAnItemLaterOrSooner) {
  StringHeap heap;
  for (int i = 1; i <= 5; ++i) Insert(heap, std::to_string(i), At(i));
  InsertOrMove(heap, "1", At(9));
  EXPECT_EQ(heap.NextItem(), "2");
  EXPECT_EQ(heap.NextDueAt(), At(2));
  InsertOrMove(heap, "4", At(1));
  EXPECT_EQ(heap.NextItem(), "4");
  EXPECT_EQ(heap.NextDueAt(), At(1));
  InsertOrMove(heap, "3", At(10));
  EXPECT_EQ(heap.size(), 5u);
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"4", "2", "5", "1", "3"}));
}

TEST(WaitingItemsTest, TheEarlierTimeCountsAfterAMoveToo) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  InsertOrMove(heap, "a", At(9));
  Insert(heap, "a", At(10));
  EXPECT_EQ(heap.NextDueAt(), At(9));
  Insert(heap, "a", At(7));
  EXPECT_EQ(heap.NextDueAt(), At(7));
}

TEST(WaitingItemsTest, EqualTimesComeInTheOrderOfBeingGivenTheTime) {
  StringHeap heap;
  Insert(heap, "a", At(5));
  Insert(heap, "b", At(5));
  Insert(heap, "c", At(5));
  InsertOrMove(heap, "d", At(5));
  InsertOrMove(heap, "b", At(5));  // Sets the same time again.
  InsertOrMove(heap, "c", At(6));
  InsertOrMove(heap, "c", At(5));  // Moves the item to an earlier time.
  InsertOrMove(heap, "a", At(4));
  heap.PostponeNext(At(5));  // Moves the item to a later time.
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"d", "b", "c", "a"}));
}

TEST(WaitingItemsTest, FindFindsWhatWaits) {
  StringHeap heap;
  EXPECT_EQ(Find(heap, "a"), nullptr);
  Insert(heap, "a", At(1));
  Insert(heap, "b", At(2));
  StringHeap::Entry* const b = Find(heap, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->item(), "b");
  EXPECT_EQ(Find(heap, "c"), nullptr);
  InsertOrMove(heap, "b", At(0));
  EXPECT_EQ(Find(heap, "b"), b) << "an entry stays where it is";
  heap.PopNext();
  EXPECT_EQ(Find(heap, "b"), nullptr);
  heap.Clear();
  EXPECT_EQ(Find(heap, "a"), nullptr);
}

TEST(WaitingItemsTest, ItemsThatHashAlikeAreTold) {
  StringHeap heap;
  heap.Insert("a", 1, At(1));
  heap.Insert("b", 1, At(2));
  EXPECT_EQ(heap.Find("c", 1), nullptr);
  ASSERT_NE(heap.Find("a", 1), nullptr);
  heap.Remove(heap.Find("a", 1));
  EXPECT_EQ(PopAll(heap), (std::vector<std::string>{"b"}));
}

TEST(WaitingItemsTest, RemoveRemovesFromAnywhere) {
  for (int size = 1; size <= 30; ++size) {
    for (int removed = 0; removed < size; ++removed) {
      StringHeap heap;
      std::vector<std::string> left;
      for (int i = 0; i < size; ++i) {
        // The order is neither that of the times nor the reverse.
        const int time = (i * 7 + 3) % 31;
        Insert(heap, std::to_string(time), At(time));
      }
      const std::string item = std::to_string((removed * 7 + 3) % 31);
      for (int time = 0; time < 31; ++time) {
        const std::string name = std::to_string(time);
        if (name != item && Find(heap, name) != nullptr) left.push_back(name);
      }
      heap.Remove(Find(heap, item));
      ASSERT_EQ(Find(heap, item), nullptr);
      ASSERT_EQ(PopAll(heap), left);
    }
  }
}

TEST(WaitingItemsTest, ARemovedItemIsReleasedAndCanWaitAgain) {
  ItemsInHeap<std::shared_ptr<int>, std::hash<std::shared_ptr<int>>,
              std::equal_to<>>
      heap;
  const auto item = std::make_shared<int>(1);
  heap.InsertOrMove(item, 1, At(1));
  EXPECT_EQ(item.use_count(), 2);
  heap.InsertOrMove(item, 1, At(2));
  EXPECT_EQ(item.use_count(), 2);
  heap.Remove(heap.Find(item, 1));
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_TRUE(heap.empty());
  heap.Insert(item, 1, At(3));
  EXPECT_EQ(heap.NextDueAt(), At(3));
}

TEST(WaitingItemsTest, ForEachVisitsEachItemWithItsTime) {
  StringHeap heap;
  for (int i = 0; i < 20; ++i) Insert(heap, std::to_string(i), At(100 - i));
  InsertOrMove(heap, "3", At(200));
  heap.Remove(Find(heap, "5"));
  std::map<std::string, absl::Time> visited;
  heap.ForEach([&visited](const std::string& item, absl::Time due_at) {
    EXPECT_TRUE(visited.emplace(item, due_at).second);
  });
  EXPECT_EQ(visited.size(), 19u);
  EXPECT_EQ(visited.count("5"), 0u);
  for (const auto& [item, due_at] : visited) {
    EXPECT_EQ(due_at, item == "3" ? At(200) : At(100 - std::stoi(item)));
  }
}

// -----------------------------------------------------------------------------
// Against a model
// -----------------------------------------------------------------------------

// A simple model of the waiting items: the time of each item, and the order of
// insertion.
class Model {
 public:
  using Place = std::pair<absl::Time, int>;

  void Insert(int item, absl::Time due_at) {
    const auto it = places_.find(item);
    if (it == places_.end() || due_at < it->second.first) {
      places_[item] = {due_at, next_++};
    }
  }

  void InsertOrMove(int item, absl::Time due_at) {
    places_[item] = {due_at, next_++};
  }

  bool Remove(int item) { return places_.erase(item) > 0; }

  // Returns the waiting items and their times.
  std::map<int, absl::Time> Times() const {
    std::map<int, absl::Time> times;
    for (const auto& [item, place] : places_) times[item] = place.first;
    return times;
  }

  int Next() const {
    return std::min_element(
               places_.begin(), places_.end(),
               [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  }

  absl::Time NextDueAt() const { return places_.at(Next()).first; }
  void PopNext() { places_.erase(Next()); }
  void PostponeNext(absl::Time t) { places_[Next()] = {t, next_++}; }
  void Clear() { places_.clear(); }
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

 private:
  std::map<int, Place> places_;
  int next_ = 0;
};

// Returns the waiting items in `heap` and their times.
template <typename T, typename Hash, typename Eq, typename F>
std::map<int, absl::Time> Times(const ItemsInHeap<T, Hash, Eq>& heap,
                                F value_of) {
  std::map<int, absl::Time> times;
  heap.ForEach([&](const T& item, absl::Time due_at) {
    EXPECT_TRUE(times.emplace(value_of(item), due_at).second);
  });
  return times;
}

TEST(WaitingItemsTest, BehavesLikeTheModel) {
  for (int seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int items = seed == 1 ? 5 : 60;
    ItemsInHeap<int, std::hash<int>, std::equal_to<>> heap;
    Model model;
    for (int i = 0; i < 6000; ++i) {
      const int op = static_cast<int>(random() % 100);
      const int item = static_cast<int>(random() % items);
      const absl::Time due_at = At(static_cast<int>(random() % 50));
      if (op < 40 || model.empty()) {
        heap.Insert(item, item % 3, due_at);
        model.Insert(item, due_at);
      } else if (op < 60) {
        heap.InsertOrMove(item, item % 3, due_at);
        model.InsertOrMove(item, due_at);
      } else if (op < 75) {
        auto* const entry = heap.Find(item, item % 3);
        ASSERT_EQ(entry != nullptr, model.Remove(item));
        if (entry != nullptr) heap.Remove(entry);
      } else if (op < 90) {
        heap.PopNext();
        model.PopNext();
      } else if (op < 99) {
        const absl::Time later =
            model.NextDueAt() +
            absl::Seconds(1 + static_cast<int>(random() % 20));
        heap.PostponeNext(later);
        model.PostponeNext(later);
      } else if (random() % 20 == 0) {
        heap.Clear();
        model.Clear();
      }
      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(heap.empty(), model.empty());
      if (i % 50 == 0) {
        ASSERT_EQ(Times(heap, [](int value) { return value; }), model.Times());
      }
      if (model.empty()) continue;
      ASSERT_EQ(heap.NextItem(), model.Next());
      ASSERT_EQ(heap.NextDueAt(), model.NextDueAt());
    }
  }
}

// -----------------------------------------------------------------------------
// In a timing wheel
// -----------------------------------------------------------------------------

using IntItems = WaitingItems<int, std::equal_to<>>;

std::unique_ptr<IntItems> NewWheel(absl::Duration tick, size_t slots,
                                   Clock* clock) {
  return std::make_unique<IntItems>(
      *WaitingSetOptions::TimingWheel(tick, slots), clock);
}

TEST(WaitingItemsTest, AWheelsTimesAreItsTicks) {
  FakeClock clock(At(0));
  const auto items = NewWheel(absl::Seconds(10), 8, &clock);
  items->Insert(1, 1, At(11), At(0));
  items->Insert(2, 2, At(5), At(0));
  items->Insert(1, 1, At(14), At(0));
  EXPECT_EQ(items->NextWake(), At(10));
  EXPECT_EQ(items->Due(At(10) - absl::Nanoseconds(1)), nullptr);
  ASSERT_NE(items->Due(At(10)), nullptr);
  EXPECT_EQ(items->Due(At(10))->item(), 2);
  items->Postpone(items->Due(At(10)), At(1000000), At(10));
  EXPECT_EQ(items->Due(At(10)), nullptr);
  EXPECT_EQ(items->NextWake(), At(20));
  items->ForFirst(2, [](int item, absl::Time due_at) {
    EXPECT_EQ(due_at, item == 1 ? At(20) : At(1000000));
  });
  items->Insert(1, 1, At(3), At(10));
  EXPECT_EQ(items->Due(At(10))->item(), 1) << "the earlier time counts";
  items->Clear();
  EXPECT_EQ(items->size(), 0u);
  EXPECT_EQ(items->NextWake(), absl::InfiniteFuture());
  EXPECT_EQ(items->Due(At(10)), nullptr);
  items->Insert(3, 3, At(11), At(10));
  EXPECT_EQ(items->NextWake(), At(20));
}

// A wheel does not know the order of the items in a slot.
TEST(WaitingItemsTest, ForFirstFindsTheFirstInAWheel) {
  FakeClock clock(At(0));
  const auto items = NewWheel(absl::Seconds(1), 4, &clock);
  for (int i = 0; i < 100; ++i) {
    const int item = i * 37 % 100;
    items->Insert(item, item, At(1000 + item), At(0));
  }
  for (int max : {0, 1, 2, 99, 100}) {
    std::vector<int> first;
    items->ForFirst(max, [&first](int item, absl::Time due_at) {
      EXPECT_EQ(due_at, At(1000 + item));
      first.push_back(item);
    });
    ASSERT_EQ(first.size(), static_cast<size_t>(max));
    if (max == 100) std::sort(first.begin(), first.end());
    for (int i = 0; i < max; ++i) EXPECT_EQ(first[i], i) << max;
  }
}

TEST(WaitingItemsTest, AWheelBehavesLikeTheModel) {
  for (int seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const absl::Duration tick = absl::Seconds(seed);
    FakeClock clock(At(0));
    const auto items = NewWheel(tick, seed == 1 ? 2 : 8, &clock);
    const auto tick_at = [tick](absl::Time time) {
      return At(0) + absl::Ceil(time - At(0), tick);
    };
    Model model;
    absl::Time now = At(0);
    for (int i = 0; i < 6000; ++i) {
      const int op = static_cast<int>(random() % 100);
      int item = static_cast<int>(random() % 60);
      const absl::Time due_at =
          now + absl::Seconds(1 + static_cast<int>(random() % 200));
      if (op < 40) {
        items->Insert(std::move(item), item % 3, due_at, now);
        model.Insert(item, tick_at(due_at));
      } else if (op < 60) {
        items->Insert(item, item % 3, due_at, now, /*even_later=*/true);
        model.InsertOrMove(item, tick_at(due_at));
      } else if (op < 75) {
        auto* const entry = items->Find(item, item % 3);
        ASSERT_EQ(entry != nullptr, model.Remove(item));
        if (entry != nullptr) items->Remove(entry);
      } else if (op < 99) {
        now += absl::Seconds(random() % 20);
        while (auto* const due = items->Due(now)) {
          const absl::Time later = now + 2 * tick;
          ASSERT_LE(model.Times().at(due->item()), now);
          if (random() % 4 == 0) {
            model.InsertOrMove(due->item(), tick_at(later));
            items->Postpone(due, later, now);
          } else {
            model.Remove(due->item());
            items->Remove(due);
          }
        }
        if (!model.empty()) {
          ASSERT_GT(model.NextDueAt(), now);
        }
      } else if (random() % 20 == 0) {
        items->Clear();
        model.Clear();
      }
      ASSERT_EQ(items->size(), model.size());
      if (i % 50 != 0) continue;
      std::map<int, absl::Time> times;
      items->ForFirst(items->size(), [&times](int item, absl::Time due_at) {
        EXPECT_TRUE(times.emplace(item, due_at).second);
      });
      ASSERT_EQ(times, model.Times());
    }
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

// Like `BehavesLikeTheModel`, but some operations throw.
TEST(WaitingItemsTest, AnExceptionLeavesItAsItWas) {
  int blown = 0;
  {
    std::mt19937 random(1);
    ItemsInHeap<FragileKey, FragileHash, FragileEq> heap;
    Model model;
    for (int i = 0; i < 8000; ++i) {
      Fuse::Arm(random() % 2 == 0 ? FragileOp::kCopy : FragileOp::kCompare,
                1 + static_cast<int>(random() % 20));
      const FragileKey key(static_cast<int>(random() % 40));
      const size_t hash = key.value() % 2;
      const absl::Time due_at = At(static_cast<int>(random() % 50));
      const int op = static_cast<int>(random() % 8);
      if (op < 2 || model.empty()) {
        if (!Blows([&] { heap.Insert(key, hash, due_at); })) {
          model.Insert(key.value(), due_at);
        }
      } else if (op < 4) {
        if (!Blows([&] { heap.InsertOrMove(key, hash, due_at); })) {
          model.InsertOrMove(key.value(), due_at);
        }
      } else if (op == 4) {
        decltype(heap)::Entry* entry = nullptr;
        if (!Blows([&] { entry = heap.Find(key, hash); })) {
          // Throws nothing.
          if (entry != nullptr) heap.Remove(entry);
          ASSERT_EQ(entry != nullptr, model.Remove(key.value()));
        }
      } else if (random() % 4 == 0) {
        const absl::Time later = model.NextDueAt() + absl::Seconds(5);
        heap.PostponeNext(later);  // Throws nothing, as
        model.PostponeNext(later);
      } else {
        heap.PopNext();  // this.
        model.PopNext();
      }
      blown += Fuse::Disarm();
      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(FragileKey::live(), static_cast<int>(model.size()) + 1);
      ASSERT_EQ(Times(heap, [](auto& item) { return item.value(); }),
                model.Times());
      if (model.empty()) continue;
      ASSERT_EQ(heap.NextItem().value(), model.Next());
      ASSERT_EQ(heap.NextDueAt(), model.NextDueAt());
    }
  }
  EXPECT_GT(blown, 100);
  EXPECT_EQ(FragileKey::live(), 0);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::waiting_items_test
}  // namespace workqueue
