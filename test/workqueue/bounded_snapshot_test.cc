// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Snapshots of a few items: `TakeSnapshotUpTo()` and `TakeSnapshotOf()`.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/base/counted_heap.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/lifo.h"
#include "test/workqueue/plain_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue::bounded_snapshot_test {
namespace {

constexpr size_t kAll = std::numeric_limits<size_t>::max();

using Item = FragileKey;

template <template <typename, typename, typename> class Q>
using OfItems = Q<Item, FragileHash, FragileEq>;

// A queue, and the interfaces that it implements.
struct Subject {
  std::unique_ptr<Interface<Item>> owned;
  DelayingInterface<Item>* delaying = nullptr;
  PriorityInterface<Item>* with_priorities = nullptr;
};

struct Kind {
  std::string name;
  std::function<Subject(FakeClock*)> make;
  bool tells_order = true;
};

void PrintTo(const Kind& kind, std::ostream* os) { *os << kind.name; }

template <typename Options>
Options On(FakeClock* clock, std::unique_ptr<Ordering<Item>> ordering) {
  Options options;
  options.clock = clock;
  options.ordering = std::move(ordering);
  return options;
}

Subject MakeQueue(FakeClock* clock, std::unique_ptr<Ordering<Item>> ordering) {
  return {std::make_unique<OfItems<Queue>>(
      On<QueueOptions<Item>>(clock, std::move(ordering)))};
}

Subject MakeDelaying(FakeClock* clock, WaitingSetOptions waiting_set) {
  auto options = On<DelayingQueueOptions<Item>>(clock, nullptr);
  options.waiting_set = waiting_set;
  auto queue = std::make_unique<OfItems<DelayingQueue>>(std::move(options));
  auto* const delaying = queue.get();
  return {std::move(queue), delaying};
}

std::unique_ptr<Ordering<Item>> Fair() {
  return *FairOrdering<Item, int>::Create(
      [](const Item& item) { return item.value() % 7; },
      [](const int& group) { return group; });
}

std::vector<Kind> Kinds() {
  return {
      {"Queue", [](FakeClock* clock) { return MakeQueue(clock, nullptr); }},
      {"Lifo",
       [](FakeClock* clock) {
         return MakeQueue(clock, std::make_unique<ListingLifo<Item>>());
       }},
      {"LifoThatDoesNotTell",
       [](FakeClock* clock) {
         return MakeQueue(clock, std::make_unique<Lifo<Item>>());
       },
       /*tells_order=*/false},
      {"Fair", [](FakeClock* clock) { return MakeQueue(clock, Fair()); }},
      {"PlainQueue",
       [](FakeClock* clock) {
         return Subject{
             std::make_unique<PlainQueue<Item, FragileHash, FragileEq>>(
                 On<QueueOptions<Item>>(clock, nullptr))};
       }},
      {"DelayingQueue",
       [](FakeClock* clock) {
         return MakeDelaying(clock, WaitingSetOptions());
       }},
      {"DelayingQueueWithWheel",
       [](FakeClock* clock) {
         return MakeDelaying(
             clock, *WaitingSetOptions::TimingWheel(absl::Milliseconds(4), 16));
       }},
      {"DelayingQueueOnADelayingQueue",
       [](FakeClock* clock) {
         // Nothing waits in the queue below.
         auto queue = *OfItems<DelayingQueue>::Create(
             MakeDelaying(clock, WaitingSetOptions()).owned,
             On<DelayingQueueOptions<Item>>(clock, nullptr));
         auto* const delaying = queue.get();
         return Subject{std::move(queue), delaying};
       }},
      {"RateLimitingQueue",
       [](FakeClock* clock) {
         auto queue = std::make_unique<OfItems<RateLimitingQueue>>(
             On<RateLimitingQueueOptions<Item>>(clock, nullptr));
         auto* const delaying = queue.get();
         return Subject{std::move(queue), delaying};
       }},
      {"PriorityQueue",
       [](FakeClock* clock) {
         PriorityQueueOptions<Item> options;
         options.clock = clock;
         auto queue =
             std::make_unique<OfItems<PriorityQueue>>(std::move(options));
         auto* const priority = queue.get();
         return Subject{std::move(queue), priority, priority};
       }},
  };
}

// All values of the elements of a snapshot, comparable.
auto Values(const Snapshot<Item>::Queued& it) {
  return std::make_tuple(it.item.value(), it.since, it.priority, it.failures);
}
auto Values(const Snapshot<Item>::Processing& it) {
  return std::make_tuple(it.item.value(), it.since, it.added_again,
                         it.failures);
}
auto Values(const Snapshot<Item>::Waiting& it) {
  return std::make_tuple(it.item.value(), it.ready_at, it.priority,
                         it.failures);
}

template <typename Part>
auto Values(const std::vector<Part>& list) {
  std::vector<decltype(Values(list[0]))> values;
  for (const Part& it : list) values.push_back(Values(it));
  return values;
}

// The first `max` of `list`.
template <typename Part>
auto Prefix(const std::vector<Part>& list, size_t max) {
  auto values = Values(list);
  if (values.size() > max) values.erase(values.begin() + max, values.end());
  return values;
}

template <typename Part>
auto Only(const std::vector<Part>& list, int item) {
  std::vector<decltype(Values(list[0]))> values;
  for (const Part& it : list) {
    if (it.item.value() == item) values.push_back(Values(it));
  }
  return values;
}

class BoundedSnapshotTest : public testing::TestWithParam<Kind> {
 protected:
  static constexpr int kItems = 60;

  BoundedSnapshotTest() { clock_.Step(absl::Hours(1)); }

  // Changes the queue in a random way.
  void ChangeRandomly() {
    const int item = Random(kItems);
    switch (Random(8)) {
      case 0:
      case 1:
        queue_.Add(item);
        break;
      case 2:
        if (queue_.Len() > 0) queue_.Get();
        break;
      case 3:
        queue_.Done(item);
        break;
      case 4:
        clock_.Step(absl::Milliseconds(Random(3)));
        break;
      case 5:
        if (subject_.with_priorities != nullptr) {
          AddOptions options;
          options.priority = Random(3) - 1;
          options.after = absl::Milliseconds(Random(20));
          subject_.with_priorities->AddWithOptions(options, {Item(item)});
        }
        break;
      default:
        if (subject_.delaying == nullptr) break;
        // No other item is due at this time: a heap's order of one time is not
        // that of the whole snapshot.
        subject_.delaying->AddAfter(item, absl::Milliseconds(1 + Random(50)) +
                                              absl::Nanoseconds(++times_));
    }
  }

  void ExpectPrefix(const Snapshot<Item>& all, size_t max) {
    SCOPED_TRACE(max);
    const Snapshot<Item> some = *queue_.TakeSnapshotUpTo(max);
    EXPECT_EQ(some.taken_at, all.taken_at);
    EXPECT_EQ(some.shutting_down, all.shutting_down);
    EXPECT_EQ(some.num_queued, all.queued.size());
    EXPECT_EQ(some.num_processing, all.processing.size());
    EXPECT_EQ(some.num_waiting, all.waiting.size());
    if (GetParam().tells_order) {
      EXPECT_EQ(Values(some.queued), Prefix(all.queued, max));
    } else {
      EXPECT_EQ(some.queued.size(), std::min(all.queued.size(), max));
      for (const auto& it : some.queued) {
        EXPECT_EQ(Only(all.queued, it.item.value()).size(), 1u);
        EXPECT_EQ(Only(some.queued, it.item.value()),
                  Only(all.queued, it.item.value()));
      }
    }
    EXPECT_EQ(Values(some.processing), Prefix(all.processing, max));
    EXPECT_EQ(Values(some.waiting), Prefix(all.waiting, max));
  }

  void ExpectOne(const Snapshot<Item>& all, int item) {
    SCOPED_TRACE(item);
    const Snapshot<Item> one = *queue_.TakeSnapshotOf(item);
    EXPECT_EQ(one.taken_at, all.taken_at);
    EXPECT_EQ(one.shutting_down, all.shutting_down);
    EXPECT_EQ(one.num_queued, all.num_queued);
    EXPECT_EQ(one.num_processing, all.num_processing);
    EXPECT_EQ(one.num_waiting, all.num_waiting);
    EXPECT_EQ(Values(one.queued), Only(all.queued, item));
    EXPECT_EQ(Values(one.processing), Only(all.processing, item));
    EXPECT_EQ(Values(one.waiting), Only(all.waiting, item));
  }

  int Random(int n) { return static_cast<int>(random_() % n); }

  FakeClock clock_;
  const Subject subject_ = GetParam().make(&clock_);
  Interface<Item>& queue_ = *subject_.owned;
  std::mt19937 random_{1};
  int64_t times_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Kinds, BoundedSnapshotTest, testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.name; });

TEST_P(BoundedSnapshotTest, IsTheBeginningOfTheWholeSnapshot) {
  size_t queued = 0, processing = 0, waiting = 0;  // the most that there were
  for (int i = 0; i < 1500; ++i) {
    ChangeRandomly();
    if (i % 50 != 0) continue;
    const Snapshot<Item> all = *queue_.TakeSnapshot();
    queued = std::max(queued, all.queued.size());
    processing = std::max(processing, all.processing.size());
    waiting = std::max(waiting, all.waiting.size());
    for (const size_t max : {0, 1, 2, 5, 10, 20}) ExpectPrefix(all, max);
    // As many as there are, one less and one more.
    for (const size_t size :
         {all.queued.size(), all.processing.size(), all.waiting.size()}) {
      if (size > 0) ExpectPrefix(all, size - 1);
      ExpectPrefix(all, size);
      ExpectPrefix(all, size + 1);
    }
    ExpectPrefix(all, kAll);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(queued, 5u);
  EXPECT_GE(processing, 5u);
  if (subject_.delaying != nullptr) {
    EXPECT_GE(waiting, 5u);
  }
}

TEST_P(BoundedSnapshotTest, OfOneItemHasTheStatesOfThatItem) {
  for (int i = 0; i < 1500; ++i) {
    ChangeRandomly();
    if (i % 50 != 0) continue;
    const Snapshot<Item> all = *queue_.TakeSnapshot();
    for (int item = -1; item <= kItems; ++item) ExpectOne(all, item);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(BoundedSnapshotTest, AfterAShutDown) {
  for (int i = 0; i < 5; ++i) queue_.Add(i);
  queue_.Get();
  if (subject_.delaying != nullptr) {
    subject_.delaying->AddAfter(9, absl::Seconds(1));
  }
  queue_.ShutDown();
  const Snapshot<Item> all = *queue_.TakeSnapshot();
  EXPECT_TRUE(all.shutting_down);
  EXPECT_EQ(all.queued.size(), 4u);
  EXPECT_EQ(all.waiting.size(), 0u);
  for (size_t max = 0; max < 6; ++max) ExpectPrefix(all, max);
  for (int item : {0, 4, 9}) ExpectOne(all, item);
}

// The lock is held for the copies.
TEST_P(BoundedSnapshotTest, CopiesAndAllocatesNoMoreOfManyItems) {
  constexpr int kMax = 10;
  int added = 0;
  const auto cost_of = [&](int items) {
    for (; added < items; ++added) {
      queue_.Add(3 * added);
      queue_.Add(3 * added + 1);
      queue_.Get();
      if (subject_.delaying != nullptr) {
        subject_.delaying->AddAfter(3 * added + 2,
                                    absl::Hours(1) + absl::Nanoseconds(added));
      }
    }
    clock_.Step(absl::ZeroDuration());  // Ends the copies on other threads.
    queue_.TakeSnapshotUpTo(0).IgnoreError();  // Takes in the additions.
    const int copies = Fuse::count(FragileOp::kCopy);
    const int64_t allocations = CountedHeap::allocations;
    const Snapshot<Item> snapshot = *queue_.TakeSnapshotUpTo(kMax);
    EXPECT_EQ(snapshot.num_queued, size_t(items));
    EXPECT_EQ(snapshot.num_processing, size_t(items));
    EXPECT_EQ(snapshot.queued.size(), size_t{kMax});
    return std::make_pair(Fuse::count(FragileOp::kCopy) - copies,
                          CountedHeap::allocations - allocations);
  };
  const auto few = cost_of(100);
  EXPECT_GE(few.first, 2 * kMax);
  // A vector that grows copies its items: they have no moves.
  EXPECT_LE(few.first, 9 * kMax);
  EXPECT_EQ(cost_of(5000), few);

  const int copies = Fuse::count(FragileOp::kCopy);
  EXPECT_EQ(queue_.TakeSnapshotUpTo(0)->num_queued, 5000u);
  EXPECT_EQ(Fuse::count(FragileOp::kCopy), copies)
      << "the numbers need no copy";
}

// A million groups would take as long as a million items.
TEST(BoundedFairSnapshotTest, VisitsFewGroups) {
  FakeClock clock;
  const Subject subject =
      MakeQueue(&clock, *FairOrdering<Item, int>::Create(
                            [](const Item& item) { return item.value() / 2; }));
  Interface<Item>& queue = *subject.owned;
  const auto allocations_with = [&](int groups) {
    for (int i = 0; i < 2 * groups; ++i) queue.Add(i);
    const int64_t before = CountedHeap::allocations;
    const Snapshot<Item> snapshot = *queue.TakeSnapshotUpTo(10);
    EXPECT_EQ(snapshot.queued.size(), 10u);
    return CountedHeap::allocations - before;
  };
  const int64_t few = allocations_with(20);
  EXPECT_EQ(allocations_with(5000), few);
}

// -----------------------------------------------------------------------------
// One item in each state
// -----------------------------------------------------------------------------

TEST(SnapshotOfOneItemTest, InEachState) {
  FakeClock clock;
  auto options = On<RateLimitingQueueOptions<Item>>(&clock, nullptr);
  options.rate_limiter = *OfItems<ItemExponentialFailureRateLimiter>::Create(
      absl::Seconds(1), absl::Hours(1));
  OfItems<RateLimitingQueue> queue(std::move(options));
  const absl::Time start = clock.TimeNow();

  Snapshot<Item> snapshot = *queue.TakeSnapshotOf(1);
  EXPECT_TRUE(snapshot.queued.empty());
  EXPECT_TRUE(snapshot.processing.empty());
  EXPECT_TRUE(snapshot.waiting.empty());
  EXPECT_EQ(snapshot.num_queued, 0u);

  queue.AddRateLimited(1);
  snapshot = *queue.TakeSnapshotOf(1);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].ready_at, start + absl::Seconds(1));
  EXPECT_EQ(snapshot.waiting[0].failures, 1);
  EXPECT_EQ(snapshot.num_waiting, 1u);

  queue.Add(0);
  queue.Add(1);
  snapshot = *queue.TakeSnapshotOf(1);
  ASSERT_EQ(snapshot.queued.size(), 1u) << "it waits and is queued";
  EXPECT_EQ(snapshot.queued[0].item.value(), 1);
  EXPECT_EQ(snapshot.queued[0].failures, 1);
  EXPECT_EQ(snapshot.num_queued, 2u);
  EXPECT_EQ(snapshot.waiting.size(), 1u);

  queue.Done(*queue.Get());
  ASSERT_EQ(queue.Get()->value(), 1);
  snapshot = *queue.TakeSnapshotOf(1);
  EXPECT_TRUE(snapshot.queued.empty());
  ASSERT_EQ(snapshot.processing.size(), 1u);
  EXPECT_FALSE(snapshot.processing[0].added_again);
  EXPECT_EQ(snapshot.processing[0].failures, 1);

  queue.Add(1);
  snapshot = *queue.TakeSnapshotOf(1);
  EXPECT_TRUE(snapshot.queued.empty());
  ASSERT_EQ(snapshot.processing.size(), 1u);
  EXPECT_TRUE(snapshot.processing[0].added_again);
  queue.Done(1);
}

// A layer that waits may be below another one.
TEST(BoundedSnapshotOfLayersTest, HasNoMoreThanMaxOfAllLayers) {
  FakeClock clock;
  Subject below = MakeDelaying(&clock, WaitingSetOptions());
  DelayingInterface<Item>& inner = *below.delaying;
  auto queue = *OfItems<DelayingQueue>::Create(
      std::move(below.owned), On<DelayingQueueOptions<Item>>(&clock, nullptr));
  for (int i : {1, 4, 5}) inner.AddAfter(i, absl::Seconds(i));
  for (int i : {2, 3, 6}) queue->AddAfter(i, absl::Seconds(i));
  const Snapshot<Item> snapshot = *queue->TakeSnapshotUpTo(3);
  EXPECT_EQ(snapshot.num_waiting, 6u);
  ASSERT_EQ(snapshot.waiting.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(snapshot.waiting[i].item.value(), i + 1);
}

// -----------------------------------------------------------------------------
// Printing
// -----------------------------------------------------------------------------

std::string Printed(const Snapshot<int>& snapshot) {
  return absl::StrCat(testing::PrintToString(snapshot));
}

TEST(BoundedSnapshotPrintTest, SaysOfHowMany) {
  FakeClock clock;
  QueueOptions<int> options;
  options.clock = &clock;
  Queue<int> queue(std::move(options));
  for (int i = 0; i < 1000; ++i) queue.Add(i);
  queue.Get();
  EXPECT_EQ(Printed(*queue.TakeSnapshotUpTo(2)),
            "2 of 999 queued:\n  1 for 0\n  2 for 0\n"
            "1 processing:\n  0 for 0\n"
            "0 waiting\n");
  EXPECT_EQ(Printed(*queue.TakeSnapshotUpTo(0)),
            "0 of 999 queued\n0 of 1 processing\n0 waiting\n");
  EXPECT_EQ(Printed(*queue.TakeSnapshotOf(5)),
            "1 of 999 queued:\n  5 for 0\n0 of 1 processing\n0 waiting\n");
}

}  // namespace
}  // namespace workqueue::bounded_snapshot_test
